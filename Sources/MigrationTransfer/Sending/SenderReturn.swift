import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Further sessions of a transfer: the sender comes back and is known by its key. No code is asked.
extension Sender {
  /// Who was met at the receiver's address.
  private enum Meeting {
    case session(SessionEnd)
    /// A device with another key.
    case stranger(KeyFingerprint)
    /// The device that was sought; it does not know the transfer any more.
    case forgotten
  }

  /// Goes on with what an earlier run began; nil if there is nothing of that kind, or none of it at that address.
  func continueUnfinished() throws(TransferFailure) -> (OutgoingTransfer, SessionEnd)? {
    var candidates = try unfinished()
    guard !candidates.isEmpty else { return nil }
    if let transfer = candidates.first, let done = transfer.done {
      for refusal in transfer.notStored { observer(refusal.event) }
      return (transfer, SessionEnd(result: .success(done), hasProgressed: false))
    }
    observer(.connecting(address: options.target.text))
    var backoff = Backoff(now: now, patience: max(options.giveUpAfter, 0.001))
    while let transfer = candidates.first {
      switch try meet(transfer, &backoff, isFirst: true) {
      case .session(let end): return (transfer, end)
      case .stranger(let key):
        // Which of several it is shows only now; the connection was made with the key of the newest.
        guard let other = candidates.dropFirst().first(where: { $0.receiver == key }) else { return nil }
        candidates = [other]
      case .forgotten:
        observer(.notice("the other device no longer has what was begun before; everything is sent anew"))
        transfer.forget()
        candidates.removeFirst()
      }
    }
    return nil
  }

  private func unfinished() throws(TransferFailure) -> [OutgoingTransfer] {
    guard let store else { return [] }
    do {
      try store.purge(now: Timestamp.coarseNow().seconds)
      return try store.unfinishedSends(of: try source.origin()).compactMap { listed in
        // What another process sends just now is its business.
        guard let entry = try? store.open(listed.remembered.transfer, role: .sender) else { return nil }
        return try OutgoingTransfer(entry)
      }
    } catch {
      throw Fault(error).failure
    }
  }

  /// Reaches the receiver again, and holds the next session.
  func comeBack(to transfer: OutgoingTransfer, _ backoff: inout Backoff) throws(TransferFailure) -> SessionEnd {
    switch try meet(transfer, &backoff, isFirst: false) {
    case .session(let end): return end
    case .stranger: throw Fault(PinMismatch()).failure
    case .forgotten: throw AbortReason.unknownPeer.failure
    }
  }

  /// Tries again and again to meet the receiver. The first try by hand comes at once.
  private func meet(
    _ transfer: OutgoingTransfer, _ backoff: inout Backoff, isFirst: Bool
  ) throws(TransferFailure) -> Meeting {
    var mustWait = !isFirst
    var isTold = !isFirst
    var last = "it does not answer"
    while true {
      guard let pause = backoff.next(now: now, spread: Double.random(in: 0...1)) else { throw Self.gaveUp(last) }
      if mustWait { try wait(seconds: pause) }
      mustWait = true
      do {
        return try tryToMeet(transfer)
      } catch {
        if isStopped { throw interrupted }
        switch error {
        case let error as ConnectionError where error.code != .violated: last = error.description
        // Its door is full, or it has not noticed yet that the last session is over.
        case AbortReason.busy: last = "it is busy"
        // A name may not be found while the network is away.
        case let failure as TransferFailure where failure.kind == .connectionLost: last = failure.message
        case let failure as TransferFailure: throw failure
        default: throw Fault(error).failure
        }
      }
      if options.giveUpAfter == 0 { throw Self.gaveUp(last) }
      if !isTold { observer(.notice("the other device cannot be reached yet (\(last)); trying again")) }
      isTold = true
    }
  }

  private func tryToMeet(_ transfer: OutgoingTransfer) throws -> Meeting {
    let dialing = try dialing(as: transfer.identity)
    let mailbox = try newMailbox()
    var connection = try dialing.connect(to: try dialing.addresses(), wakeup: mailbox.wakeup)
    if let key = connection.peerFingerprint, key != transfer.receiver { return .stranger(key) }
    do {
      try ClientPairing.come(
        back: .resume, on: &connection, to: transfer.receiver, until: BootInstant.now().advanced(by: .seconds(10)))
    } catch AbortReason.unknownPeer {
      return .forgotten
    }
    return .session(converse(connection, transfer, dialing, mailbox, isResumed: true))
  }

  private static func gaveUp(_ reason: String) -> TransferFailure {
    TransferFailure(
      .connectionLost, "the other device cannot be reached: \(reason)",
      hint: "What has arrived is kept. Check the address, and start the same command on both devices again.")
  }
}
