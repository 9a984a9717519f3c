import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Brings a connection that was let in to READY, in the engine's steps (Protocol §4.2).
struct PairingWorker: Sendable {
  let setup: ReceiverSetup
  let served: ServedConnection

  private var departed: ReceiverPerformer.WorkerReport { Report(.departed(served.id)) }

  /// Brings TLS up and reads HELLO.
  func greet(_ socket: Handover<StreamSocket>, tlsUntil: BootInstant, helloUntil: BootInstant)
    -> ReceiverPerformer.WorkerReport
  {
    let dismissal = served.dismissal
    let made = try? Connection(socket.take(), setup.context, wakeup: dismissal.wakeup) { dismissal.isDismissed }
    guard var connection = made else { return departed }
    do {
      try connection.handshake(until: tlsUntil, within: setup.handshakes)
    } catch {
      // An alert has told the other end why.
      return departed
    }
    let key = connection.peerFingerprint
    setup.post(.secured(served.id, key, isOfDevice: key.map(setup.isKnown) ?? false))
    return rest(connection) { (connection) throws(ConnectionError) in
      let (mode, hello) = try ServerPairing.hello(&connection, until: helloUntil)
      served.note { $0.hello = hello }
      return .asked(served.id, mode)
    }
  }

  /// Reads the other end's share.
  func awaitShare(until deadline: BootInstant) -> ReceiverPerformer.WorkerReport {
    goOn { (connection) throws(ConnectionError) in
      let share = try ServerPairing.share(&connection, until: deadline)
      served.note { $0.share = share }
      return .shared(served.id)
    }
  }

  /// Answers the other end's share about the code whose secret this is, and reads its proof.
  func exchange(_ secret: PairingSecret, until deadline: BootInstant) -> ReceiverPerformer.WorkerReport {
    goOn { (connection) throws(ConnectionError) in
      let exchange = try ServerPairing.exchange(
        &connection, hello: served.noted.hello, share: served.noted.share, secret: secret,
        own: setup.identity.fingerprint, until: deadline)
      served.note { $0.confirmation = exchange.confirmation }
      return .proved(served.id, isRight: exchange.isRight)
    }
  }

  /// Keeps a proof until it may be judged.
  func keepProof(_ isRight: Bool, until moment: BootInstant) -> ReceiverPerformer.WorkerReport {
    goOn { (connection) throws(ConnectionError) in
      try connection.rest(until: moment)
      return .proved(served.id, isRight: isRight)
    }
  }

  /// Proves the code to a sender that has proved it.
  func confirm(until deadline: BootInstant) -> ReceiverPerformer.WorkerReport {
    goOn { (connection) throws(ConnectionError) in
      let (key, meeting) = (connection.peerFingerprint, try connection.meetingSecret())
      setup.expect(key, at: connection.remoteAddress.hostDescription, meeting)
      try ServerPairing.confirm(&connection, served.noted.confirmation, until: deadline)
      setup.meetings.note(key, meeting)
      return .ready(served.id, identifier: .randomIdentifier())
    }
  }

  /// Lets a sender that is known come back, for a session or with a data stream.
  func welcome(_ mode: ConnectionMode, until deadline: BootInstant) -> ReceiverPerformer.WorkerReport {
    let report = goOn { (connection) throws(ConnectionError) in
      try ServerPairing.welcome(back: mode, on: &connection, until: deadline)
      return .ready(served.id, identifier: .randomIdentifier())
    }
    guard mode == .join, case .ready = report.event, var connection = served.take() else { return report }
    do throws(ConnectionError) {
      let join = try ServerPairing.join(&connection, until: deadline)
      served.put(connection)
      return Report(.joining(served.id, join))
    } catch {
      // Past READY there is no ABORT any more.
      if let close = Self.close(insteadOfJoin: error) { Self.say(close, on: &connection) }
      return departed
    }
  }

  /// Tells a connection after READY why no data stream begins on it.
  func refuse(_ close: Close) -> ReceiverPerformer.WorkerReport {
    if var connection = served.take() { Self.say(close, on: &connection) }
    return departed
  }

  private static func say(_ close: Close, on connection: inout Connection) {
    let deadline = BootInstant.now().advanced(by: .seconds(1))
    try? connection.writeAll(StreamMessage.close(close).frame(), until: deadline)
    connection.close(by: deadline)
  }

  /// The CLOSE for a connection that does not join; nil if it has ended, or this end stops.
  private static func close(insteadOfJoin error: ConnectionError) -> Close? {
    switch error.code {
    case .timedOut:
      Close(.silent, "no JOIN came within \(Int(ReadyLimits.pairing)) seconds of the connection's admission")
    case .violation(let violation): Close(violation)
    default: nil
    }
  }

  /// Tells the other end why it is turned away, and its place where it waits in the line.
  func turnAway(_ reason: AbortReason, place: UInt16 = 0) -> ReceiverPerformer.WorkerReport {
    if var connection = served.take() {
      if place > 0, reason == .busy {
        connection.end(with: .abort(.busy, .busy(wait: .later, place: place)))
      } else {
        abort(&connection, reason)
      }
    }
    return departed
  }

  // MARK: Steps

  private typealias Step = (inout Connection) throws(ConnectionError) -> ReceiverEngine.Event

  private func goOn(_ step: Step) -> ReceiverPerformer.WorkerReport {
    guard let connection = served.take() else { return departed }
    return rest(connection, after: step)
  }

  /// Performs a step, and leaves the connection for the next one; a connection that fails is ended.
  private func rest(_ connection: consuming Connection, after step: Step) -> ReceiverPerformer.WorkerReport {
    var connection = connection
    let event: ReceiverEngine.Event
    do throws(ConnectionError) {
      event = try step(&connection)
    } catch {
      if let reason = served.dismissal.makesRoom ? .busy : Self.abortReason(error) { abort(&connection, reason) }
      return departed
    }
    served.put(connection)
    return Report(event)
  }

  /// Tells the other end why it is turned away. An end that only made room learns that this device
  /// is busy.
  private func abort(_ connection: inout Connection, _ reason: AbortReason) {
    if served.dismissal.makesRoom {
      connection.abort(.busy, within: .milliseconds(100))
    } else {
      connection.abort(reason)
    }
  }

  /// The message for the other end; nil if its connection has ended, it took too long, or has said ABORT itself.
  private static func abortReason(_ error: ConnectionError) -> AbortReason? {
    if case .aborted(let reason) = error.code { return error.isToldAbort ? nil : reason }
    return error.isCut ? nil : .malformed
  }
}
