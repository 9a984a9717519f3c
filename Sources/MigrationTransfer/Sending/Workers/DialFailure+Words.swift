package import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

extension SenderEngine.DialFailure {
  /// No connection came up to pair on. `isReached`: TCP had connected, so the failure counts as the
  /// receiver's, not as the network's.
  package init(unreached error: ConnectionError, isReached: Bool) {
    switch error.code {
    case .stopped: self = .stopped
    case .refused:
      self = .failed(
        TransferFailure(
          .pairing, "no secure connection came up: \(error)",
          hint: "Check that the address and port are those of a device that runs 'peer receive'."))
    case .lost, .closed, .timedOut, .violated:
      let failure = TransferFailure(
        .connectionLost, "the other device cannot be reached: \(error)",
        hint: "Check the address and the port, and that 'peer receive' is running there.")
      let isCut = isReached && error.code != .violated
      self =
        isCut
        ? .turnedAway(failure, reason: error.description) : .unreached(failure, reason: error.description)
    }
  }

  /// The connection is up, and the devices were not paired on it.
  package init(ofPairing error: any Error) {
    if let turned = error as? TurnedAway {
      let failure = TransferFailure(unpaired: turned.reason)
      self = .turnedAway(failure, reason: failure.message)
    } else {
      self = .failed(TransferFailure(unpaired: error))
    }
  }

  /// A device that comes back to a transfer was not let in.
  package init(ofReturn error: any Error) {
    switch error {
    case let error as ConnectionError where error.code == .stopped: self = .stopped
    case let error as ConnectionError where error.code != .violated:
      self = .unreached(Fault(error).failure, reason: error.description)
    // The receiver has no room, or has not noticed yet that the last session has ended.
    case AbortReason.busy: self = .turnedAway(AbortReason.busy.failure, reason: "it is busy")
    case AbortReason.unknownPeer: self = .forgotten
    default: self = .failed(Fault(error).failure)
    }
  }
}

extension AbortReason {
  /// The connection is up, and the pairing on it has failed: the message for the other end, where
  /// it does not know.
  init?(telling error: any Error) {
    switch error {
    case AbortReason.codeMismatch: self = .codeMismatch
    case is TLSError, is Violation: self = .malformed
    default: return nil
    }
  }
}

extension TransferFailure {
  /// The connection is up, and the pairing on it has failed.
  init(unpaired error: any Error) {
    switch error {
    case let reason as AbortReason: self = reason.failure
    case let error as TLSError: self.init(.pairing, error.description, hint: AbortReason.interference)
    case let error as Violation: self.init(.pairing, error.description, hint: AbortReason.interference)
    case let error as ConnectionError:
      self.init(
        .pairing, "the connection ended before the devices were paired: \(error)",
        hint: "Check that the other device still shows a code, and try again.")
    default: self.init(.failed, "\(error)")
    }
  }
}
