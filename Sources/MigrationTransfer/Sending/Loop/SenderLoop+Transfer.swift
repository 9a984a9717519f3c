import MigrationEngine
import MigrationWire

/// The record of a transfer.
extension SenderLoop {
  /// All is sent.
  func note(_ finish: Finish, _ number: SessionNumber, of id: TransferID) {
    // Items without content take time as well.
    transfers[id]?.traffic.begin()
    remember(.finish(number, id, finish), of: id)
  }

  /// The receiver has said that all is done.
  func record(_ done: Done, _ refusals: [Refusal], of id: TransferID) {
    transfers[id]?.traffic.end()
    remember(.done(id, done, refusals: refusals), of: id)
  }

  func forget(_ id: TransferID) {
    remember(.nothing(id), of: id)
    transfers[id] = nil
  }

  /// Has something written down.
  func remember(_ what: RememberWorker.Subject, of id: TransferID) {
    start(RememberWorker(subject: what, transfer: transfers[id]))
  }
}
