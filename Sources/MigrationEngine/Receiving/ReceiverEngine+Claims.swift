package import MigrationWire

/// What a part claims of the destination, beside other transfers: room until all of it is staged,
/// and names until its import has ended.
struct PartClaim: Hashable, Sendable {
  let transfer: TransferID
  let part: UInt16
  let isStaged: Bool
}

/// A transfer that waits for others' claims.
struct ClaimWait: Equatable, Sendable {
  let claims: Set<PartClaim>
  /// When it is judged again although these claims last: this device's user may have made room.
  let until: Double

  /// How many claims are in its way: all of them, as long as none has ended.
  func count(beside current: Set<PartClaim>, now: Double) -> Int {
    now < until && claims.isSubset(of: current) ? claims.count : 0
  }
}

/// How fast a session brings what it claims, while others wait for that.
struct ClaimPace: Equatable, Sendable {
  /// The bytes that an item counts, and the most that a session has to bring in a turn.
  private static let (item, most): (UInt64, UInt64) = (4_096, 16 << 20)

  private var at: Double?
  private var brought: UInt64 = 0

  /// Whether less than a 64th of its total has come in a turn.
  mutating func isTooSlow(_ held: Tally, of total: Tally, now: Double) -> Bool {
    let before = brought
    if let at, now < at + ReceiverEngine.turn { return false }
    defer { (at, brought) = (now, Self.weight(held)) }
    return at != nil && Self.weight(held).subtractingClamped(before) < min(Self.most, Self.weight(total) / 64)
  }

  private static func weight(_ tally: Tally) -> UInt64 {
    tally.bytes.addingClamped(tally.items.multipliedClamped(by: item))
  }
}

/// Several transfers at a time claim room and names of one destination (Protocol §7.5). A claim makes
/// others wait, and gives way to what they bring.
extension ReceiverEngine {
  /// The transfers whose claims count: their senders are here, or an import runs.
  package var claiming: Set<TransferID> { Set(phase.places.lazy.filter(\.isEngaged).map(\.transfer)) }

  /// All that is claimed now beside a transfer.
  private func claims(beside transfer: TransferID) -> Set<PartClaim> {
    Set(
      claiming.subtracting([transfer]).compactMap { transfers[of: $0] }.map {
        PartClaim(transfer: $0.identifier, part: $0.part.number, isStaged: $0.isImporting)
      })
  }

  /// Claims of others are in the way of a part: its sender comes again.
  mutating func waitForClaims(_ number: SessionNumber, by fault: Fault) {
    guard let transfer = conversations[number]?.transfer else { return }
    claimWaits = claimWaits.filter { now < $0.value.until }
    claimWaits[transfer] = ClaimWait(claims: claims(beside: transfer), until: now + Self.turn)
    endSession(number, by: fault)
  }

  /// How many claims are in the way of a transfer; 0 where it may be judged again.
  func claimsBefore(_ transfer: TransferID) -> Int {
    claimWaits[transfer]?.count(beside: claims(beside: transfer), now: now) ?? 0
  }

  /// The sender of a transfer has come while it waits for claims: it is not away.
  mutating func keepWaiting(_ transfer: TransferID) {
    guard case .away(_, _, let outcome)? = phase[transfer] else { return }
    phase.serve(.away(transfer, until: now + min(settings.giveUpAfter, 1e9), outcome), atMost: settings.atOnce)
  }

  /// Whether another transfer waits for the claims of a session.
  func isClaimAwaited(_ number: SessionNumber) -> Bool {
    guard let transfer = phase[number]?.transfer else { return false }
    return claimWaits.contains { waiting, wait in
      wait.claims.contains { $0.transfer == transfer } && claimsBefore(waiting) > 0
    }
  }

  /// Others wait for the claims of a session: whether it brings so little that it gives way.
  mutating func isTooSlow(_ number: SessionNumber, _ held: Tally) -> Bool {
    guard isClaimAwaited(number), let conversation = conversations[number], conversation.isTalking,
      conversation.finish == nil, case .receiving = conversation.course,
      let total = transfers[of: conversation.transfer]?.part.total.tally
    else { return false }
    return conversations[number]?.claimPace.isTooSlow(held, of: total, now: now) ?? false
  }

  /// The invariant of waiting transfers that does not hold; nil if it holds.
  var brokenClaims: String? {
    for (transfer, _) in claimWaits
    where conversations.values.contains(where: { $0.transfer == transfer && $0.isTalking }) {
      return "a transfer waits for claims and is served"
    }
    return nil
  }
}
