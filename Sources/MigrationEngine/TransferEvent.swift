package import MigrationWire

/// The result of a finished transfer.
package struct TransferResult: Equatable, Sendable {
  package let total: Tally
  /// Bytes of DATA bodies that crossed the wire in this run, in their compressed size. Holes do not
  /// count.
  package let sentBytes: UInt64
  /// Bytes that compression saved on the wire in this run.
  package let savedBytes: UInt64
  /// Bytes of content that earlier sessions had delivered when the last one began.
  package let heldBytes: UInt64
  /// Seconds from the first byte of data to the last message.
  package let seconds: Double
  /// How many items of the source could not be sent.
  package let unsent: UInt64
  /// The properties that the destination could not hold, with their counts.
  package let losses: [Done.Loss]
  /// The items left out because the destination has them, or has other items of the same names.
  package let leftOut: LeftOut
  /// How many items the destination could not hold.
  package let notStored: UInt64
  /// How many of those the sender has left out: they are no items of `total`.
  package let withheld: UInt64
  /// How many items were stored under other names, because their own were taken.
  package let renamed: UInt64
  /// The items of the source that were moved or removed at the destination since they arrived.
  package let removed: Done.Removed
  /// Attributes of the source that are not transferred.
  package let lostAttributes: [LostAttribute]
  /// By when everything had arrived, in seconds since 1970, if an earlier run concluded the
  /// transfer and nothing is sent in this one.
  package let concludedAt: Int64?
  /// How many parts, and how many roots of the other parts, were not taken or have failed.
  package let failedParts: Int
  /// How many parts were changed at the destination, while the source has nothing newer.
  package let presentParts: Int

  /// The result of a part that is not sent, since the source has nothing newer.
  static let present = TransferResult(
    total: Tally(), sentBytes: 0, heldBytes: 0, seconds: 0, unsent: 0, losses: [], presentParts: 1)

  package init(
    total: Tally, sentBytes: UInt64, savedBytes: UInt64 = 0, heldBytes: UInt64, seconds: Double, unsent: UInt64,
    losses: [Done.Loss], leftOut: LeftOut = LeftOut(), notStored: UInt64 = 0, withheld: UInt64 = 0, renamed: UInt64 = 0,
    removed: Done.Removed = Done.Removed(),
    lostAttributes: [LostAttribute] = [], concludedAt: Int64? = nil, failedParts: Int = 0, presentParts: Int = 0
  ) {
    self.renamed = renamed
    self.removed = removed
    self.failedParts = failedParts
    self.presentParts = presentParts
    self.concludedAt = concludedAt
    self.lostAttributes = lostAttributes
    self.notStored = notStored
    self.withheld = withheld
    self.leftOut = leftOut
    self.total = total
    self.sentBytes = sentBytes
    self.savedBytes = savedBytes
    self.heldBytes = heldBytes
    self.seconds = seconds
    self.unsent = unsent
    self.losses = losses
  }
}

/// The end of one of several parts, for the user.
package struct PartEnd: Sendable {
  package let number: UInt16
  package let name: String
  /// The root that is left out, while the rest of the part arrives; nil for the whole part.
  private(set) package var root: [UInt8]?
  package let result: TransferOutcome
  /// Whether a later session may continue a part that has failed.
  package let mayResume: Bool
  /// Whether the receiver's user has not taken it.
  package let isDeclined: Bool

  package init(_ number: UInt16, _ name: String, _ result: TransferResult) {
    (self.number, self.name, root, self.result) = (number, name, nil, .success(result))
    (mayResume, isDeclined) = (false, false)
  }

  package init(_ number: UInt16, _ name: String, root: [UInt8]? = nil, _ fault: Failure) {
    self.number = number
    self.name = name
    self.root = root
    result = fault.outcome
    mayResume = root == nil && fault.isResumable
    isDeclined = [.declined, .notAllowed, .told(.refused)].contains(fault.code)
  }

  fileprivate func placed(_ place: ([UInt8]) -> [UInt8]) -> PartEnd {
    var end = self
    end.root = root.map(place)
    return end
  }
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
        notStored: sum(\.notStored), withheld: sum(\.withheld), renamed: sum(\.renamed),
        removed: Done.Removed(count: sum(\.removed.count), unsettled: sum(\.removed.unsettled)),
        lostAttributes: lostAttributes.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
          LostAttribute(name: $0.key, count: $0.value)
        }, concludedAt: finished.contains { $0.concludedAt == nil } ? nil : finished.compactMap(\.concludedAt).max(),
        failedParts: finished.reduce(failures.count) { $0 + $1.failedParts },
        presentParts: finished.reduce(0) { $0 + $1.presentParts }))
  }
}

/// An event for the person or the program that started the engine.
///
/// Texts and names from the other device are unescaped in events; the program that shows them
/// escapes them.
package enum TransferEvent: Sendable {
  /// Senders can reach the receiver.
  case listening(Listening)
  /// Senders can find this device on its networks under a name: its label, changed where another
  /// device has that label.
  case announced(name: String)
  /// Senders cannot find this device on its networks, and why: a lower-case clause.
  case unannounced(reason: String)
  /// From now on, this process can create and change files only in these directories.
  case confined(directories: [[UInt8]])
  /// This process can write wherever its user can, and why: a lower-case clause. The directories
  /// are those that a confinement would have closed to it, if there are any.
  case unconfined(reason: String, directories: [[UInt8]])
  /// A code to show, and for how many seconds it is valid; and this device's place at a relay, which
  /// is shown in front of it.
  case code(PairingCode, lifetime: Double, place: RelayPlace? = nil)
  /// The code that was given to this device may be entered now, for so many seconds. It is not
  /// shown.
  case codeAwaited(lifetime: Double)
  /// A wrong code was entered; `left` is the number of codes that are still judged before no code
  /// is shown any more.
  case wrongCode(attempt: Int, allowed: Int, from: String, left: Int)
  /// After so many wrong codes, no code is shown any more; `from` lists the addresses that entered
  /// them, most first. This ends the run, or the user can begin another wait.
  case codesSpent(count: Int, from: [GuessLimit.Count], isOver: Bool)
  /// The sender looks for receivers in this network.
  case looking
  /// The only receiver that was found, with the label that it states.
  case found(label: String, address: String)
  /// The sender connects.
  case connecting(address: String)
  /// The sender waits in the receiver's line, in which so many others come first, the served one
  /// among them; 0 where the receiver does not say.
  case queued(place: UInt16)
  /// The next events are about this transfer, until it ends or another transfer begins.
  case transfer(TransferID)
  /// The devices have paired, or know each other from a kept pairing; the other device's label and
  /// address.
  case paired(label: String, address: String, isKnown: Bool = false)
  /// The session leads through a relay, which passes on so many bytes at most.
  case relayed(through: String, bytes: UInt64)
  /// From now on, the data of a relayed session takes this connection.
  case dataConnection(DataConnection)
  /// The offered transfer, how much room the destination has (nil at the sender), and the only part of the plan.
  case offer(Offer, availableBytes: UInt64?, of: Part? = nil)
  /// The parts of a plan of several, instead of an offer.
  case plan([Part], availableBytes: UInt64?)
  case progress(TransferProgress)
  /// The connection is lost; the transfer resumes by itself when it can.
  case interrupted(reason: String)
  case resumed(heldBytes: UInt64)
  /// Everything has arrived and is verified.
  case staged
  case importing
  /// News that ends nothing; a lower-case clause.
  case notice(String)
  /// An item that is not at the destination, and what this device knows besides the reason, safe to
  /// show.
  case notStored(NotStored, note: String? = nil)
  /// An item was stored under another name, because its own was taken: its path in the archive, and
  /// its path at the destination.
  case renamed(path: [UInt8], target: [UInt8])
  /// An app's extension wrote a line to standard error or output.
  case extensionOutput(isError: Bool, line: [UInt8])
  case done(TransferResult)
  /// One of several parts has ended, or a root of a part is left out; the others continue.
  case partEnded(PartEnd)
  /// A transfer has failed, and the run continues: only a receiver that stays reports this.
  case failed(Failure)
  /// An event about one of several transfers at a time.
  indirect case of(TransferID, TransferEvent)
}

extension TransferEvent {
  /// The event without the transfer that it is about.
  package var plain: TransferEvent { if case .of(_, let event) = self { event.plain } else { self } }

  /// The event with the paths of this device: `place` is where an item of the archive, or a root, is
  /// here.
  package func placed(_ place: ([UInt8]) -> [UInt8]) -> TransferEvent {
    switch self {
    case .of(let transfer, let event): .of(transfer, event.placed(place))
    case .notStored(let item, let note): .notStored(item.named(place(item.path)), note: note)
    case .renamed(let path, let target): .renamed(path: place(path), target: target)
    case .partEnded(let end): .partEnded(end.placed(place))
    default: self
    }
  }

  /// Whether it shows that the devices have reached each other.
  package var isFromOther: Bool {
    switch self {
    case .found, .queued, .paired, .wrongCode, .offer, .progress, .resumed, .interrupted, .done, .failed: true
    default: false
    }
  }

  /// The connection of the data in a session whose control connection leads through a relay.
  package enum DataConnection: Equatable, Sendable {
    /// From device to device.
    case direct(isIPv6: Bool)
    /// Through the relay again.
    case relay(String)
  }
}

extension RenamedItem {
  /// The event for the user.
  package var event: TransferEvent { .renamed(path: path.bytes, target: target.bytes) }
}
