import MigrationWire

/// A device that the user of this one forgets while it has transfers here: they end, and nothing is
/// kept of them (Protocol §4.6).
extension ReceiverEngine {
  /// Ends the sessions of a transfer. An import that runs is completed.
  mutating func forgotten(_ identifier: TransferID) {
    guard transfers[of: identifier] != nil else { return }
    transfers[of: identifier]?.fault = .forgotten
    for number in sessions.keys.sorted() where sessions[number]?.transfer == identifier {
      endSession(number, by: .forgotten)
    }
  }

  /// Has what is staged of forgotten transfers removed, once nothing works on them.
  mutating func tendForgotten() {
    let busy = transfersOfSessions
    for transfer in transfers.filter({ $0.fault == .forgotten && !$0.isImporting && !busy.contains($0.identifier) }) {
      transfers.discard(transfer.identifier)
      if phase[transfer.identifier] != nil {
        endTransfer(transfer.identifier, transfer.outcome ?? .failure(Failure.forgotten))
      }
    }
  }
}
