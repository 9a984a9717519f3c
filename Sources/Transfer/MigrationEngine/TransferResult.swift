package import MigrationWire

/// The result of a finished transfer.
package struct TransferResult: Equatable, Sendable {
  package let total: Tally
  /// Bytes of DATA bodies that crossed the wire in this run, in their compressed size. Holes do not
  /// count.
  package let sentBytes: UInt64
  /// Bytes that compression saved on the wire in this run.
  package var savedBytes: UInt64 = 0
  /// Bytes of content that earlier sessions had delivered when the last one began.
  package let heldBytes: UInt64
  /// Seconds from the first byte of data to the last message.
  package let seconds: Double
  /// How many items of the source could not be sent.
  package let unsent: UInt64
  /// The properties that the destination could not hold, with their counts.
  package let losses: [Done.Loss]
  /// The items left out because the destination has them, or has other items of the same names.
  package var leftOut = LeftOut()
  /// How many items the destination could not hold.
  package var notStored: UInt64 = 0
  /// How many items were stored under other names, because their own were taken.
  package var renamed: UInt64 = 0
  /// The items of the source that were moved or removed at the destination since they arrived.
  package var removed = Done.Removed()
  /// Attributes of the source that are not transferred.
  package var lostAttributes: [LostAttribute] = []
  /// By when everything had arrived, in seconds since 1970, if an earlier run concluded the
  /// transfer and nothing is sent in this one.
  package var concludedAt: Int64?
  /// How many parts, and how many roots of the other parts, were not taken or have failed.
  package var failedParts = 0
  /// How many parts were changed at the destination, while the source has nothing newer.
  package var presentParts = 0

  /// The result of a part that is not sent, since the source has nothing newer.
  static let present = TransferResult(
    total: Tally(), sentBytes: 0, heldBytes: 0, seconds: 0, unsent: 0, losses: [], presentParts: 1)
}

/// How a transfer, or a part of one, has ended.
package typealias TransferOutcome = Result<TransferResult, Failure>

extension Result where Failure == MigrationWire.Failure {
  /// The failure; nil for a success.
  package var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension Failure {
  /// How it ends a part: one that is there already, and has nothing newer, is no failure.
  var outcome: TransferOutcome {
    switch code {
    case .nothingNewer, .told(.nothingNewer): .success(.present)
    default: .failure(self)
    }
  }
}

extension TransferOutcome {
  /// The result of a whole plan, by its parts in their order (Protocol §7.5). The traffic is that of
  /// the run.
  static func combined(_ parts: [TransferOutcome], _ traffic: Traffic) -> TransferOutcome {
    let failures = parts.compactMap(\.failure)
    let finished = parts.compactMap { try? $0.get() }
    if finished.isEmpty, let first = failures.first { return .failure(first) }
    func sum(_ count: (TransferResult) -> UInt64) -> UInt64 { finished.reduce(0) { $0 &+ count($1) } }
    var (losses, lostAttributes): ([Done.Loss.Kind: UInt64], [[UInt8]: UInt64]) = ([:], [:])
    for result in finished {
      for loss in result.losses { losses[loss.kind, default: 0] += loss.count }
      for attribute in result.lostAttributes { lostAttributes[attribute.name, default: 0] += attribute.count }
    }
    return .success(
      TransferResult(
        total: finished.reduce(Tally()) { $0.adding($1.total) }, sentBytes: traffic.sent, savedBytes: traffic.saved,
        heldBytes: sum(\.heldBytes), seconds: traffic.seconds, unsent: sum(\.unsent),
        losses: losses.sorted { $0.key.rawValue < $1.key.rawValue }.map { Done.Loss(kind: $0.key, count: $0.value) },
        leftOut: LeftOut(
          present: sum(\.leftOut.present), differing: sum(\.leftOut.differing), removed: sum(\.leftOut.removed)),
        notStored: sum(\.notStored), renamed: sum(\.renamed),
        removed: Done.Removed(count: sum(\.removed.count), unsettled: sum(\.removed.unsettled)),
        lostAttributes: lostAttributes.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
          LostAttribute(name: $0.key, count: $0.value)
        }, concludedAt: finished.contains { $0.concludedAt == nil } ? nil : finished.compactMap(\.concludedAt).max(),
        failedParts: finished.reduce(failures.count) { $0 + $1.failedParts },
        presentParts: finished.reduce(0) { $0 + $1.presentParts }))
  }
}
