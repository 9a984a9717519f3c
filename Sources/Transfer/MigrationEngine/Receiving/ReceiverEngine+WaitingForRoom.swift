package import MigrationWire

extension Tally {
  /// The bytes, and a block for each item.
  var weight: UInt64 { bytes.addingClamped(items.multipliedClamped(by: 4_096)) }
}

/// Several transfers at a time reserve room and names of one destination (Protocol §A.2). A transfer
/// that lacks room or a name waits; a transfer that brings too little gives up its reservation.
extension ReceiverEngine {
  /// The transfers whose reservations count: their senders are here, or an import runs.
  package var reserving: Set<TransferID> { Set(phase.served.lazy.filter(\.isEngaged).map(\.transfer)) }

  /// The reservations of all other transfers now.
  private func reservations(beside transfer: TransferID) -> Set<PartReservation> {
    Set(
      reserving.subtracting([transfer]).compactMap { transfers[of: $0] }.map {
        PartReservation(transfer: $0.identifier, part: $0.part.number, isStaged: $0.isImporting)
      })
  }

  /// Reservations of others are in the way of a part: its sender comes again.
  mutating func waitForReservations(_ number: SessionNumber, by fault: Failure) {
    guard let transfer = sessions[number]?.transfer else { return }
    reservationWaits[transfer] = ReservationWait(
      reservations: reservations(beside: transfer), until: now + Self.turn, keptUntil: now + max(Self.turn, awayTime))
    endSession(number, by: fault)
  }

  /// How many reservations are in the way of a transfer; 0 where it may be judged again.
  func reservationsBefore(_ transfer: TransferID) -> Int {
    reservationWaits[transfer]?.count(beside: reservations(beside: transfer), now: now) ?? 0
  }

  /// The sender of a transfer has come while it waits for reservations: it is not away.
  mutating func keepWaiting(_ transfer: TransferID) {
    let until = now + max(Self.turn, awayTime)
    reservationWaits[transfer]?.keptUntil = until
    guard case .away(_, _, let outcome)? = phase[transfer] else { return }
    phase.serve(.away(transfer, until: now + awayTime, outcome), atMost: settings.atOnce)
  }

  /// Whether another transfer waits for the reservations of this one.
  func isReservationAwaited(of transfer: TransferID) -> Bool {
    reservationWaits.contains { waiting, wait in
      wait.reservations.contains { $0.transfer == transfer } && reservationsBefore(waiting) > 0
    }
  }

  /// Whether a session's transfer brings so little that it has to release its reservations, for
  /// which other transfers wait.
  mutating func isTooSlow(_ number: SessionNumber) -> Bool {
    guard let transfer = phase[number].flatMap({ transfers[of: $0.transfer] }),
      isReservationAwaited(of: transfer.identifier), isToAct(number)
    else { return false }
    return reservationPaces[transfer.identifier, default: ReservationPace(transfer.brought, now: now)]
      .isTooSlow(transfer.brought, of: transfer.part.total.tally)
  }

  /// Forgets the transfers whose senders come no more, and the paces that no other transfer needs.
  mutating func tendReservations() {
    reservationWaits = reservationWaits.filter { now < $0.value.keptUntil && transfers[of: $0.key] != nil }
    let moment = now
    for transfer in reservationPaces.keys {
      let isToAct = phase[transfer]?.session.map(isToAct) ?? false
      let isAwaited = isReservationAwaited(of: transfer)
      reservationPaces[transfer]?.pass(to: moment, isToAct: isToAct, isAwaited: isAwaited)
    }
    reservationPaces = reservationPaces.filter { !$0.value.isOver }
  }

  /// A part's reservation at the destination: room until all of the part is staged, and names until
  /// its import has ended.
  struct PartReservation: Hashable, Sendable {
    let transfer: TransferID
    let part: UInt16
    let isStaged: Bool
  }

  /// A transfer that waits for others' reservations.
  struct ReservationWait: Equatable, Sendable {
    let reservations: Set<ReceiverEngine.PartReservation>
    /// When the transfer is judged again although these reservations last: the user may have made
    /// room.
    let until: Double
    /// Until when its sender may come again. It need not have a place here, nor anything staged.
    var keptUntil: Double

    /// How many reservations delay the transfer: all of them, as long as none has ended.
    func count(beside current: Set<ReceiverEngine.PartReservation>, now: Double) -> Int {
      now < until && reservations.isSubset(of: current) ? reservations.count : 0
    }
  }

  /// How fast a transfer brings the data that it reserves room for, over its parts and sessions,
  /// while other transfers wait for that room.
  struct ReservationPace: Equatable, Sendable {
    /// The most bytes that a transfer has to bring in a turn.
    private static let most: UInt64 = 16 << 20

    /// The amount that the transfer had brought when the turn began.
    private var before: UInt64
    /// The seconds of the turn, up to `at`, in which its sender had to act.
    private var spent = 0.0
    private var at: Double
    private var isToAct = true
    private var awaitedAt: Double

    init(_ brought: UInt64, now: Double) { (before, at, awaitedAt) = (brought, now, now) }

    /// Time has passed. From now on, either the sender has to act, or this end does.
    mutating func pass(to now: Double, isToAct: Bool, isAwaited: Bool) {
      if self.isToAct { spent += now - at }
      (at, self.isToAct) = (now, isToAct)
      if isAwaited { awaitedAt = now }
    }

    /// Whether no other transfer has waited for a whole turn.
    var isOver: Bool { at > awaitedAt + ReceiverEngine.turn }

    /// Whether less than a 64th of the offer has come in a turn. Otherwise another turn begins.
    mutating func isTooSlow(_ brought: UInt64, of total: Tally) -> Bool {
      guard spent >= ReceiverEngine.turn else { return false }
      if brought.subtractingClamped(before) < min(Self.most, max(1, total.weight / 64)) { return true }
      (before, spent) = (brought, 0)
      return false
    }
  }
}
