import MigrationEngine
import MigrationWire

/// The steps between a connection's arrival and READY, on the receiver.
extension SimulatedReceiver {
  func performAtDoor(_ action: Engine.Action) {
    switch action {
    case .greet(let id, let tlsUntil, let helloUntil): work("greet", id) { greet($0, $1, tlsUntil, helloUntil) }
    case .awaitShare(let id, let until): work("share", id) { awaitShare($0, $1, until) }
    case .exchange(let id, let until): work("exchange", id) { exchange($0, $1, until) }
    case .keepProof(let id, let isRight, let until): work("keep a proof", id) { keepProof($0, $1, isRight, until) }
    case .confirm(let id, let until): work("confirm", id) { confirm($0, $1, until) }
    case .welcome(let id, let mode, let until): work("welcome", id) { welcome($0, $1, mode, until) }
    case .turnAway(let id, let reason, _):
      work("turn away", id) { worker, connection in
        connection.send(HandshakeMessage(.abort, UInt64(reason.rawValue)).bytes)
        run(after: world.dice.roll(1...2_000)) { [self] in depart(worker, connection) }
      }
    case .refuseStream(let id, _):
      work("refuse a stream", id) { worker, connection in
        run(after: world.dice.roll(1...2_000)) { [self] in depart(worker, connection) }
      }
    case .dismiss(let id, let makesRoom):
      if makesRoom { connections[id]?.send(HandshakeMessage(.abort, UInt64(AbortReason.busy.rawValue)).bytes) }
      hands[id]?.end()
    default: break
    }
  }

  /// Starts the worker of a connection; if it cannot be created, the connection ends.
  private func work(_ name: StaticString, _ id: ConnectionID, _ body: (Worker, SimulatedConnection) -> Void) {
    guard let connection = connections[id] else { return world.fail("a worker of an ended connection: \(name)") }
    world.check(hands[id] == nil && links[id] == nil, "a connection has two workers: \(name)")
    let worker = begin(name)
    hands[id] = worker
    connection.stopReading()
    if lacksThread { return depart(worker, connection) }
    body(worker, connection)
  }

  private func depart(_ worker: Worker, _ connection: SimulatedConnection) {
    forget(connection.id)
    done(worker, connection) { [self] in feed(.departed(connection.id)) }
  }

  /// A worker releases its connection, and ends.
  func done(_ worker: Worker, _ connection: SimulatedConnection, _ event: @escaping () -> Void) {
    connection.stopReading()
    worker.whenTold = nil
    end(worker) { [self] in
      if hands[connection.id] === worker { hands[connection.id] = nil }
      event()
    }
  }

  /// Waits for the next message of the handshake; departs if it does not arrive in time.
  private func hear(
    _ worker: Worker, _ connection: SimulatedConnection, until moment: Double, size: Int = HandshakeMessage.size,
    _ body: @escaping ([UInt8]) -> Void
  ) {
    var isOver = false
    let giveUp = { [self] in
      guard !isOver else { return }
      isOver = true
      depart(worker, connection)
    }
    worker.whenTold = { [self] in run(after: world.dice.roll(0...500), giveUp) }
    if worker.mustEnd { run(after: world.dice.roll(0...500), giveUp) }
    run(after: world.delay(until: moment), giveUp)
    connection.read {
      guard !isOver else { return }
      if let bytes = connection.take(size) {
        isOver = true
        connection.stopReading()
        worker.whenTold = nil
        return body(bytes)
      }
      if connection.isEnded { giveUp() }
    }
  }

  private func expect(
    _ kind: HandshakeMessage.Kind, _ worker: Worker, _ connection: SimulatedConnection, until moment: Double,
    _ body: @escaping (UInt64) -> Void
  ) {
    hear(worker, connection, until: moment) { [self] bytes in
      guard let message = HandshakeMessage(bytes), message.kind == kind else {
        connection.send(HandshakeMessage(.abort, UInt64(AbortReason.malformed.rawValue)).bytes)
        return depart(worker, connection)
      }
      body(message.value)
    }
  }

  private func greet(_ worker: Worker, _ connection: SimulatedConnection, _ tlsUntil: Double, _ helloUntil: Double) {
    expect(.clientHello, worker, connection, until: tlsUntil) { [self] key in
      connection.send(HandshakeMessage(.serverHello, self.key).bytes)
      expect(.finished, worker, connection, until: tlsUntil) { [self] _ in
        let fingerprint = key == 0 ? nil : KeyFingerprint(number: key)
        let isOfDevice = fingerprint.map(scene.keptAtReceiver.contains) ?? false
        feed(.secured(connection.id, fingerprint, isOfDevice: isOfDevice))
        expect(.mode, worker, connection, until: helloUntil) { [self] value in
          guard let mode = ConnectionMode(rawValue: UInt8(truncatingIfNeeded: value)) else {
            return depart(worker, connection)
          }
          done(worker, connection) { [self] in feed(.asked(connection.id, mode)) }
        }
      }
    }
  }

  private func awaitShare(_ worker: Worker, _ connection: SimulatedConnection, _ until: Double) {
    expect(.pairA, worker, connection, until: until) { [self] _ in
      done(worker, connection) { [self] in feed(.shared(connection.id)) }
    }
  }

  private func exchange(_ worker: Worker, _ connection: SimulatedConnection, _ until: Double) {
    let code = code
    connection.send(HandshakeMessage(.pairB).bytes)
    expect(.confirmation, worker, connection, until: until) { [self] value in
      let isRight = code.map { $0.number == value } ?? false
      done(worker, connection) { [self] in feed(.proved(connection.id, isRight: isRight)) }
    }
  }

  private func keepProof(_ worker: Worker, _ connection: SimulatedConnection, _ isRight: Bool, _ until: Double) {
    var isOver = false
    let giveUp = { [self] in
      guard !isOver else { return }
      isOver = true
      depart(worker, connection)
    }
    worker.whenTold = { [self] in run(after: world.dice.roll(0...500), giveUp) }
    if worker.mustEnd { worker.whenTold?() }
    run(after: world.delay(until: until)) { [self] in
      guard !isOver else { return }
      isOver = true
      done(worker, connection) { [self] in feed(.proved(connection.id, isRight: isRight)) }
    }
  }

  private func confirm(_ worker: Worker, _ connection: SimulatedConnection, _ until: Double) {
    connection.send(HandshakeMessage(.ready, code?.number ?? 0).bytes)
    expect(.heard, worker, connection, until: until) { [self] _ in
      done(worker, connection) { [self] in feed(.ready(connection.id, identifier: world.dice.identifier())) }
    }
  }

  private func welcome(_ worker: Worker, _ connection: SimulatedConnection, _ mode: ConnectionMode, _ until: Double) {
    connection.send(HandshakeMessage(.ready).bytes)
    expect(.heard, worker, connection, until: until) { [self] _ in
      guard mode == .join else {
        return done(worker, connection) { [self] in
          feed(.ready(connection.id, identifier: world.dice.identifier()))
        }
      }
      hear(worker, connection, until: until, size: Limits.frameHeader + Join.size) { [self] bytes in
        let body = Limits.frameHeader
        guard case .join(let join)? = try? StreamMessage(.join, bytes.span, body..<bytes.count) else {
          return depart(worker, connection)
        }
        done(worker, connection) { [self] in feed(.joining(connection.id, join)) }
      }
    }
  }
}

extension PairingCode {
  /// The digits as a number.
  var number: UInt64 { digits.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) } }
}

extension Dice {
  func identifier() -> UInt128 { UInt128(next()) << 64 | UInt128(next()) }
}
