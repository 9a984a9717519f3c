import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// Who the receiver has to do with, and who may come: how one phase leads to another.
extension Receiver {
  /// Ends the run if it is time to; when to look again.
  func look() -> BootInstant? {
    state.withLock { state in
      guard state.outcome == nil else { return nil }
      switch state.phase {
      case .open:
        if let kind = state.stopped { state.outcome = .failure(TransferFailure(kind, "interrupted")) }
        return nil
      case .engaged(let transfer): return lookAtTheEnd(of: transfer, &state)
      case .away(let transfer, let deadline, let result):
        if let kind = state.stopped {
          state.outcome = transfer.isDone ? result : .failure(TransferFailure(kind, "interrupted"))
        } else if BootInstant.now() >= deadline {
          state.outcome = result
        }
        return deadline
      }
    }
  }

  /// A session that is stopped has a moment to say so. An import is not broken off: that it ends is told by its thread.
  private func lookAtTheEnd(of transfer: IncomingTransfer, _ state: inout State) -> BootInstant? {
    guard let kind = state.stopped, let stoppedAt = state.stoppedAt, !transfer.isImporting, !transfer.isDone else {
      return nil
    }
    let deadline = options.pace.instant(Curfew.forWords, after: stoppedAt)
    if BootInstant.now() >= deadline { state.outcome = .failure(TransferFailure(kind, "interrupted")) }
    return deadline
  }

  /// Whether a session or an import goes on, which newcomers must not slow down.
  var isEngaged: Bool { state.withLock { if case .engaged = $0.phase { true } else { false } } }

  /// A known sender was seen at an address.
  func noteAddress(_ remote: SocketAddress) {
    var address = remote
    address.port = 0
    state.withLock { state in
      state.familiar.removeAll { $0 == address }
      state.familiar.append(address)
      if state.familiar.count > Self.familiarAddresses { state.familiar.removeFirst() }
    }
  }

  private static var familiarAddresses: Int { 32 }

  /// Whether somebody may pair: nobody has, or nothing would be lost by another.
  var isInviting: Bool {
    state.withLock { state in
      switch state.phase {
      case .open: true
      case .engaged: false
      case .away(let transfer, _, _): transfer.isEmpty
      }
    }
  }

  /// Takes a newly paired sender's transfer; those of which nothing has arrived give way to it.
  func engage(pairedWith client: KeyFingerprint) throws(AbortReason) -> IncomingTransfer {
    let transfer = IncomingTransfer(pairedWith: client, host: self)
    let empty = try state.withLock { (state) throws(AbortReason) -> [IncomingTransfer] in
      switch state.phase {
      case .open: break
      case .engaged: throw .busy
      case .away(let other, _, _): guard other.isEmpty else { throw .busy }
      }
      let empty = state.remembered.filter(\.isEmpty)
      state.remembered.removeAll { one in empty.contains { $0 === one } }
      state.phase = .engaged(transfer)
      state.remembered.append(transfer)
      return empty
    }
    for old in empty { old.discard() }
    attention.signal()
    return transfer
  }

  /// Takes a remembered sender that comes back.
  func engage(returning client: KeyFingerprint?) throws(AbortReason) -> IncomingTransfer {
    let transfer = try state.withLock { (state) throws(AbortReason) -> IncomingTransfer in
      guard let transfer = state.remembered.last(where: { $0.client == client }) else { throw .unknownPeer }
      switch state.phase {
      case .open: break
      case .engaged(let other): guard other === transfer || other.giveWay() else { throw .busy }
      case .away(let other, _, _): guard other === transfer || other.isEmpty else { throw .busy }
      }
      state.phase = .engaged(transfer)
      return transfer
    }
    attention.signal()
    return transfer
  }
}

extension Receiver.Phase {
  /// Whether the receiver has to do with this transfer.
  func isAbout(_ transfer: IncomingTransfer) -> Bool {
    switch self {
    case .open: false
    case .engaged(let other), .away(let other, _, _): other === transfer
    }
  }
}
