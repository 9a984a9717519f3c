import MigrationEngine
import MigrationWire

/// What is remembered of a transfer.
extension SenderLoop {
  func remember(_ action: SenderEngine.Action) {
    switch action {
    case .noteFinish(let id, let finish):
      // What has no content takes its time as well.
      transfers[id]?.traffic.begin()
      remember(.finish(finish), of: id)
    case .recordDone(let id, let done, let refusals):
      transfers[id]?.traffic.end()
      remember(.done(id, done, refusals: refusals), of: id)
    case .note(let id, let arrived, let total, let address):
      remember(.progress(arrived: arrived, total: total, address: address), of: id)
    case .forget(let id):
      remember(.nothing, of: id)
      transfers[id] = nil
    default: preconditionFailure("an action of another room")
    }
  }

  private func remember(_ what: RememberWorker.Subject, of id: TransferID) {
    toRemember.append(RememberWorker(subject: what, transfer: transfers[id]))
    rememberNext()
  }

  /// Starts the next worker of the transfer's memory, if none is at work.
  func rememberNext() {
    guard !isRemembering, !toRemember.isEmpty else { return }
    isRemembering = true
    start(toRemember.removeFirst())
  }
}
