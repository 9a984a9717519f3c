import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// The sessions of a sender: how each ends, and what follows from that.
extension Receiver {
  /// Holds the conversation with a sender on its connection's thread.
  func converse(_ connection: consuming Connection, _ transfer: IncomingTransfer, isResumed: Bool) {
    let mailbox = Mailbox<ReceiverNews>(wakeup: connection.wakeup)
    noteAddress(connection.remoteAddress)
    // From here on it is this session that decides, not the one that ends because of it: one order for all who ask.
    let begun = state.withLock { (state) -> (TransferPart, TransferFailure.Kind?)? in
      guard state.phase.isAbout(transfer) else { return nil }
      // The end of the session before may have been noted behind the coming of this one.
      state.phase = .engaged(transfer)
      state.control = mailbox
      state.reception = nil
      return (transfer.attach(mailbox), state.stopped)
    }
    // Another transfer has taken the place of an empty one meanwhile.
    guard let (part, stopped) = begun else { return }
    if let stopped { mailbox.post(.stop(stopped)) }
    var control = ReceiverControl(
      connection, of: transfer, isResumed: isResumed, part: part, pace: options.pace, host: self)
    do {
      try control.run()
      transfer.forget()
      end(.success(result(of: transfer)))
    } catch {
      transfer.detach(part)
      let isCurrent = state.withLock { state in
        guard state.control === mailbox else { return false }
        state.control = nil
        return true
      }
      if isCurrent { sessionEnded(transfer, part, error) }
    }
  }

  private func sessionEnded(_ transfer: IncomingTransfer, _ part: TransferPart, _ failure: Fault) {
    transfer.noteProgress()
    let isStopped = state.withLock { $0.stopped != nil }
    let mayComeBack = failure.senderMayComeBack && !isStopped && options.giveUpAfter > 0
    switch transfer.leave(part, failing: mayComeBack ? nil : failure) {
    // A newer session decides, or the import tells how it ends: it depends on no connection.
    case .superseded, .importing: return
    case .done: return expect(transfer, .success(result(of: transfer)), for: Self.linger)
    case .failed(let failure): return end(.failure(failure.failure))
    case .goOn, .wait: break
    }
    observer(.interrupted(reason: failure.failure.message))
    expect(
      transfer,
      .failure(
        TransferFailure(
          .connectionLost, "the other device did not come back: \(failure.failure.message)",
          hint: "What has arrived is kept. Start the same command on both devices again.")),
      for: options.giveUpAfter)
  }

  /// How long a finished receiver stays for a sender that has not heard of it, in seconds.
  private static var linger: Double { 60 }

  /// The sender is away; it may come back for so many seconds.
  private func expect(
    _ transfer: IncomingTransfer, _ result: Result<TransferResult, TransferFailure>, for seconds: Double
  ) {
    let deadline = options.pace.instant(min(seconds, 1e9), after: BootInstant.now())
    if transfer.isEmpty { office.reopen() }
    state.withLock { state in
      // It may be back already.
      if case .engaged(let other) = state.phase, other === transfer, state.control != nil { return }
      state.phase = .away(transfer, until: deadline, result)
    }
    attention.signal()
  }

  private func result(of transfer: IncomingTransfer) -> TransferResult {
    let done = transfer.done ?? Done(total: Tally())
    return TransferResult(
      total: done.total, sentBytes: transfer.traffic.sent, savedBytes: transfer.traffic.saved,
      heldBytes: min(transfer.heldBefore.bytes, done.total.bytes), seconds: transfer.traffic.seconds,
      unsent: transfer.unsent, losses: done.losses, leftOut: transfer.leftOut, notStored: done.notStored,
      leftBehind: transfer.leftBehind)
  }

  func end(_ outcome: Result<TransferResult, TransferFailure>) {
    if case .success(let result) = outcome { observer(.done(result)) }
    state.withLock { state in
      guard state.outcome == nil else { return }
      state.outcome = outcome.mapError { failure in
        // Which signal it was that broke an import off.
        guard failure.kind == .interrupted, let kind = state.stopped else { return failure }
        return TransferFailure(kind, failure.message, hint: failure.hint, about: failure.subject)
      }
    }
    attention.signal()
  }
}

extension Receiver: ReceptionHost {
  var greeting: Greeting {
    Greeting(
      role: .receiver, label: options.label, software: options.software, features: .ofThisDevice,
      request: importer.request)
  }

  var port: UInt16 { state.withLock { $0.port } }

  var isStopped: Bool { state.withLock { $0.stopped != nil } }

  func observe(_ event: TransferEvent) { observer(event) }

  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    try threads.start(name, body)
  }

  func open(_ reception: Reception, of transfer: IncomingTransfer, as part: TransferPart) -> Bool {
    // Sessions are attached under the same lock, so that no older one opens behind a newer one.
    state.withLock { state in
      guard transfer.isReceiving(as: part) else { return false }
      state.reception = reception
      return true
    }
  }

  func ended(_ transfer: IncomingTransfer, _ result: Result<Done, Fault>, isHeard: Bool) {
    switch result {
    case .success:
      observer(.done(self.result(of: transfer)))
      // A session tells the sender; without one it may still come and ask.
      if !isHeard { expect(transfer, .success(self.result(of: transfer)), for: Self.linger) }
    case .failure(let failure):
      if !isHeard { end(.failure(failure.failure)) }
    }
  }
}
