package import MigrationArchive
package import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The sending device: walks its sources, pairs by the code, and sends.
package final class Sender: Sendable {
  package struct Options: Sendable {
    package let target: HostAndPort
    /// What this device is called.
    package let label: String
    package let software: String
    /// How many data streams carry the archive.
    package let streams: UInt32

    package init(target: HostAndPort, label: String, software: String, streams: UInt32 = 1) {
      self.target = target
      self.label = label
      self.software = software
      self.streams = streams
    }
  }

  private let options: Options
  private let source: any ItemSource
  private let observer: @Sendable (TransferEvent) -> Void
  private let identity: Identity
  private let dialing: Dialing
  private let mailbox: Mailbox<SenderNews>
  private let threads = ThreadGroup()
  private let isStopped = Flag()

  package init(
    _ options: Options, source: any ItemSource, observer: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) {
    self.options = options
    self.source = source
    self.observer = observer
    do {
      identity = try Identity.generate()
      let isStopped = isStopped
      dialing = Dialing(target: options.target, context: try TLSContext(role: .client, identity: identity)) {
        isStopped.isSet
      }
      mailbox = Mailbox(wakeup: try Wakeup())
    } catch {
      throw TransferFailure(.failed, "\(error)")
    }
  }

  /// Starts walking the sources; meanwhile the code may be typed.
  package func prepare() throws(TransferFailure) {
    do throws(SystemError) {
      try threads.start("walk") { [self] in
        do throws(ArchiveError) {
          let summary = try source.prepare { self.isStopped.isSet }
          mailbox.post(.prepared(.success(summary)))
        } catch {
          mailbox.post(.prepared(.failure(error)))
        }
      }
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  /// Ends the transfer soon, from any thread.
  package func stop(_ kind: TransferFailure.Kind) {
    isStopped.set()
    mailbox.post(.stop(kind))
  }

  /// Pairs with the code and sends everything; blocks until it is over.
  package func run(_ code: PairingCode) throws(TransferFailure) -> TransferResult {
    defer {
      isStopped.set()
      threads.wait()
    }
    let addresses = try dialing.addresses()
    observer(.connecting(address: addresses.first?.description ?? ""))
    let secret = derive(code)
    var connection: Connection
    do {
      connection = try dialing.connect(to: addresses, wakeup: mailbox.wakeup)
    } catch {
      throw unreached(error)
    }
    let receiver: KeyFingerprint
    do {
      receiver = try ClientPairing.pair(
        &connection, secret: try secret.wait(), own: identity.fingerprint,
        until: BootInstant.now().advanced(by: .seconds(10)))
    } catch {
      throw unpaired(error, &connection)
    }
    let surroundings = SenderControl.Surroundings(
      greeting: Greeting(role: .sender, label: options.label, software: options.software, features: []),
      source: source, dialing: dialing, addresses: [connection.remoteAddress], receiver: receiver,
      streams: options.streams, observe: observer)
    var control = SenderControl(connection, mailbox: mailbox, surroundings: surroundings)
    let result = try control.run()
    observer(.done(result))
    return result
  }

  /// Stretches the code on a thread of its own, while the connection comes up.
  private func derive(_ code: PairingCode) -> Promise<[UInt8]> {
    let promise = Promise<[UInt8]>()
    do {
      try threads.start("code") {
        promise.fulfil(Result { try PairingSecret.scalar(fromDigits: code.digits) })
      }
    } catch {
      promise.fulfil(.failure(error))
    }
    return promise
  }

  // MARK: Words for people

  private func unreached(_ error: ConnectionError) -> TransferFailure {
    if error.code == .stopped || isStopped.isSet { return interrupted }
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
    if isStopped.isSet { return interrupted }
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

  private var interrupted: TransferFailure {
    for case .stop(let kind) in mailbox.take() { return TransferFailure(kind, "interrupted") }
    return TransferFailure(.interrupted, "interrupted")
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
        hint: "Start \"peer receive\" there and use the code that it shows.")
    case .codeExpired:
      TransferFailure(
        .pairing, "the code has expired or was used already",
        hint: "Use the code that the other device shows now.")
    case .busy:
      TransferFailure(
        .refused, "the other device is busy with another transfer", hint: "Wait until it is done, and try again.")
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
