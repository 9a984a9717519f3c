import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// What the transfers that a receiver serves at the same time still need of the destination: room and
/// names. None of them is judged as if it were alone; one that only lacks what another one reserves
/// waits for that.
final class ReservedRoom: Sendable {
  private struct Reservation: Sendable {
    let transfer: IncomingTransferContext
    /// The total of the transfer's part.
    var total: Tally
    /// The paths of the part's roots in the destination.
    let roots: Set<[UInt8]>
  }

  private struct State: Sendable {
    var reservations: [TransferID: Reservation] = [:]
    /// The transfers whose reservations count: a worker may still reserve for others.
    var reserving: Set<TransferID> = []

    /// The reservations of the transfers beside this one.
    func others(_ transfer: IncomingTransferContext) -> [Reservation] {
      reservations.filter { $0.key != transfer.identifier && reserving.contains($0.key) }.map(\.value)
    }
  }

  private let state = Mutex(State())
  /// One transfer at a time is judged and reserves. Otherwise two transfers could each find the
  /// other's reservation, or neither could.
  private let turn = ComputeGate(places: 1)

  /// Releases the reservations of transfers whose senders are not here any more.
  func keep(_ reserving: Set<TransferID>) {
    state.withLock { state in
      state.reserving = reserving
      state.reservations = state.reservations.filter { reserving.contains($0.key) }
    }
  }

  /// The room that the other transfers still need.
  func room(besides transfer: IncomingTransferContext) -> Tally {
    state.withLock { $0.others(transfer) }.reduce(Tally()) { sum, reservation in
      let held = reservation.transfer.held
      return sum.adding(
        Tally(
          items: reservation.total.items.subtractingClamped(held.items),
          bytes: reservation.total.bytes.subtractingClamped(held.bytes)))
    }
  }

  /// This much of a part is at the destination already, and does not arrive.
  func release(_ present: Tally, of transfer: IncomingTransferContext) {
    state.withLock { state in
      guard let total = state.reservations[transfer.identifier]?.total else { return }
      state.reservations[transfer.identifier]?.total = Tally(
        items: total.items.subtractingClamped(present.items), bytes: total.bytes.subtractingClamped(present.bytes))
    }
  }

  /// Everything of the part is staged.
  func release(_ transfer: TransferID) {
    state.withLock { state in state.reservations[transfer]?.total = Tally() }
  }

  /// Fails if another transfer brings a root of the same name, and existing names are refused.
  private func check(_ offer: Offer, of transfer: IncomingTransferContext, _ existing: Existing) throws(Failure) {
    guard existing == .refuse else { return }
    let others = state.withLock { $0.others(transfer) }
    for root in offer.contents.roots where others.contains(where: { $0.roots.contains(transfer.path(of: root)) }) {
      throw Failure(
        .reserved, "another device sends \(VisibleText.quoted(root.name)) to the same folder at this moment",
        hint: "With --into '{device}' each device has its own folder.",
        name: root.name)
    }
  }

  /// Judges a part beside the reservations of other transfers, and reserves its room and names. A
  /// part that has begun keeps its names: its import judges them.
  func reserve<Judgement>(
    _ offer: Offer, of transfer: IncomingTransferContext, hasBegun: Bool, _ existing: Existing,
    after judge: (_ others: Tally) throws(Failure) -> Judgement
  ) throws -> Judgement {
    try turn.run {
      if !hasBegun { try check(offer, of: transfer, existing) }
      let reserved = room(besides: transfer)
      let judgement: Judgement
      do throws(Failure) {
        judgement = try judge(reserved)
      } catch {
        guard error.code == .noSpace, reserved != Tally() else { throw error }
        // Without the others there may be room.
        _ = try judge(Tally())
        throw Failure(.reserved, "another device sends so much at this moment that there may be no room for this")
      }
      let total = Tally(items: offer.items, bytes: offer.allocated)
      let roots = Set(offer.contents.roots.map { transfer.path(of: $0) })
      state.withLock {
        $0.reservations[transfer.identifier] = Reservation(transfer: transfer, total: total, roots: roots)
      }
      return judgement
    }
  }
}

extension IncomingTransferContext {
  /// Where a root arrives in the destination.
  fileprivate func path(of root: Root) -> [UInt8] {
    (folder.map { $0.bytes + [UInt8(ascii: "/")] } ?? []) + root.name
  }
}
