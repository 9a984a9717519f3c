import MigrationWire

/// The user forgets a device that has transfers here: its transfers end, and this device keeps
/// nothing of them (Protocol §4.6).
extension ReceiverEngine {
  /// Ends the sessions of a transfer. An import that runs is completed.
  mutating func forgotten(_ identifier: TransferID) {
    guard transfers[of: identifier] != nil else { return }
    transfers[of: identifier]?.fault = .forgotten
    for number in sessions.keys.sorted() where sessions[number]?.transfer == identifier {
      endSession(number, by: .forgotten)
    }
  }

  /// Has the staged data of forgotten transfers removed, once no session and no import uses it.
  mutating func tendForgotten() {
    let busy = transfersOfSessions
    for transfer in transfers.filter({ $0.fault == .forgotten && !$0.isImporting && !busy.contains($0.identifier) }) {
      transfers.discard(transfer.identifier)
      if phase[transfer.identifier] != nil {
        endTransfer(transfer.identifier, transfer.outcome ?? .failure(Failure.forgotten))
      }
    }
  }

  /// Gives the store its tasks one after the other.
  mutating func tendStoreTasks() {
    if !workers.isStoreBusy, let task = transfers.takeTask(busy: transfersOfSessions) { act(task) }
  }
}
