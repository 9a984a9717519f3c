import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The first session of a new transfer: the devices are paired by the code.
extension Sender {
  /// For how long a door that turns this device away is tried, in seconds.
  private static let patience: Double = 30

  /// Pairs with the code, and holds the first session. A receiver that had no room is tried again for a while.
  func pair(_ code: PairingCode) throws(TransferFailure) -> (OutgoingTransfer, SessionEnd) {
    let identity = try freshIdentity()
    let dialing = try dialing(as: identity)
    let addresses = try dialing.addresses()
    observer(.connecting(address: addresses.first?.description ?? ""))
    // Before there is a connection: a busy receiver keeps a place for those that do not hesitate.
    let secret = try derive(code)
    var backoff = Backoff(now: now, patience: min(Self.patience, options.giveUpAfter), longest: Backoff.longestAtDoor)
    var isTold = false
    while true {
      let mailbox = try newMailbox()
      do throws(PairingFailure) {
        return try meet(addresses, dialing, secret, identity, mailbox)
      } catch {
        guard error.mayTryAgain, let pause = backoff.next(now: now, spread: Double.random(in: 0...1)) else {
          throw error.failure
        }
        if !isTold { observer(.notice("the other device is busy; trying again")) }
        isTold = true
        try wait(seconds: pause)
      }
    }
  }

  /// Why one try did not come to a pairing, and whether another one may.
  private struct PairingFailure: Error {
    let failure: TransferFailure
    var mayTryAgain = false
  }

  private func meet(
    _ addresses: [SocketAddress], _ dialing: Dialing, _ secret: [UInt8], _ identity: Identity,
    _ mailbox: Mailbox<SenderNews>
  ) throws(PairingFailure) -> (OutgoingTransfer, SessionEnd) {
    var connection: Connection
    let isReached = Flag()
    do {
      connection = try dialing.connect(to: addresses, wakeup: mailbox.wakeup, isReached: isReached)
    } catch {
      let isCut = isReached.isSet && [.lost, .closed, .timedOut].contains(error.code)
      throw PairingFailure(failure: unreached(error), mayTryAgain: isCut && !isStopped)
    }
    let receiver: KeyFingerprint
    do {
      receiver = try ClientPairing.pair(
        &connection, secret: secret, own: identity.fingerprint, until: BootInstant.now().advanced(by: .seconds(10)))
    } catch let turned as TurnedAway {
      throw PairingFailure(failure: unpaired(turned.reason, &connection), mayTryAgain: !isStopped)
    } catch {
      throw PairingFailure(failure: unpaired(error, &connection))
    }
    let transfer = OutgoingTransfer(identity, pairedWith: receiver)
    return (transfer, converse(connection, transfer, dialing, mailbox, isResumed: false))
  }

  private func freshIdentity() throws(TransferFailure) -> Identity {
    do {
      return try Identity.generate()
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  private func derive(_ code: PairingCode) throws(TransferFailure) -> [UInt8] {
    do {
      return try PairingSecret.scalar(fromDigits: code.digits)
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  // MARK: Words for people

  private func unreached(_ error: ConnectionError) -> TransferFailure {
    if error.code == .stopped || isStopped { return interrupted }
    if error.code == .refused {
      return TransferFailure(
        .pairing, "no secure connection came up: \(error)",
        hint: "Check that the address and port are those of a device that runs \"peer receive\".")
    }
    return TransferFailure(
      .connectionLost, "the other device cannot be reached: \(error)",
      hint: "Check the address and the port, and that \"peer receive\" is running there.")
  }

  private func unpaired(_ error: any Error, _ connection: inout Connection) -> TransferFailure {
    if isStopped { return interrupted }
    switch error {
    case let reason as AbortReason:
      if reason == .codeMismatch { connection.abort(.codeMismatch) }
      return reason.failure
    case let error as TLSError:
      connection.abort(.malformed)
      return TransferFailure(.pairing, error.description, hint: AbortReason.interference)
    case let error as Violation:
      connection.abort(.malformed)
      return TransferFailure(.pairing, error.description, hint: AbortReason.interference)
    case let error as ConnectionError:
      return TransferFailure(
        .pairing, "the connection ended before the devices were paired: \(error)",
        hint: "Check that the other device still shows a code, and try again.")
    default: return TransferFailure(.failed, "\(error)")
    }
  }
}

extension AbortReason {
  static let interference =
    "Check the code shown on the other device. If this keeps happening, someone on this network may be interfering."

  /// What the sender's user reads when the receiver says this before READY.
  var failure: TransferFailure {
    switch self {
    case .codeMismatch:
      TransferFailure(
        .pairing, "The code did not match. Nothing was sent.", hint: Self.interference)
    case .notPairing:
      TransferFailure(
        .pairing, "the other device is not showing a code now",
        hint: "Start \"peer receive\" there and use the code that it shows; a --from there must name this device.")
    case .codeExpired:
      TransferFailure(
        .pairing, "the code has expired or was used already",
        hint: "Use the code that the other device shows now.")
    case .busy:
      TransferFailure(
        .refused, "the other device is busy",
        hint: "Wait until its transfer is done, or it is less sought after, and try again.")
    case .version:
      TransferFailure(
        .failed, "the other device speaks another version of the protocol", hint: "Update peer on both devices.")
    case .malformed:
      TransferFailure(.pairing, "the other device could not make sense of this one", hint: Self.interference)
    case .unknownPeer:
      TransferFailure(
        .refused, "the other device does not know this transfer", hint: "Start it anew, with a new code.")
    }
  }
}
