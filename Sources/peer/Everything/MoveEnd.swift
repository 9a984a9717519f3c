import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The end of a run of a move, and the records that are of no use then.
///
/// A move whose parts have all ended goes on by its record only if something of a failed part may have
/// arrived. Otherwise the next run is a last pass for what has arrived, and the first one for the rest.
final class MoveEnd: Sendable {
  private let state = Condition<(transfer: TransferID?, failed: Set<UInt16>)>((nil, []))

  /// Notes the transfer, and the parts that have failed.
  func note(_ event: TransferEvent) {
    state.withLock { state in
      switch event.plain {
      case .transfer(let transfer): state.transfer = transfer
      case .partEnded(let end) where end.root == nil:
        if end.result.failure == nil { state.failed.remove(end.number) } else { state.failed.insert(end.number) }
      default: break
      }
    }
  }

  /// Forgets the sender's record of the move if nothing of the failed parts has arrived, and the records of
  /// earlier moves to the same device, which this one has replaced.
  func settle(_ sources: [any ItemSource], isContinued: Bool, of move: [UInt8], in store: TransferStore) {
    let (transfer, failed) = state.withLock { $0 }
    let isOver = failed.allSatisfy { number in
      guard let source = sources[Int(number)] as? LabelledSource else { return false }
      return !source.hasBegun && (source.isOfApp || !isContinued)
    }
    if isOver, let transfer { _ = try? store.forget(transfer.hexadecimal) }
    forgetOthers(as: .sender, in: store) { $0.sources?.first == move }
  }

  /// Forgets what a receiver has of earlier moves from the same device to the same place.
  func settle(at place: [UInt8], in store: TransferStore) {
    forgetOthers(as: .receiver, in: store) { $0.destination == place }
  }

  private func forgetOthers(as role: Role, in store: TransferStore, _ isSame: (TransferRecord) -> Bool) {
    guard let transfer = state.withLock({ $0.transfer }),
      // A move notes the use of its device when it begins.
      let peer = (try? store.devices(as: role))?.first?.peer, let known = try? store.list().transfers
    else { return }
    for listed in known where listed.remembered.role == role && listed.remembered.peer == peer && !listed.isInUse {
      let other = listed.remembered
      if other.transfer != transfer, !other.isDone, isSame(other) { _ = try? store.forget(other.transfer.hexadecimal) }
    }
  }
}
