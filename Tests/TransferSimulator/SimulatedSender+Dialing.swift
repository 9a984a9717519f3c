import MigrationEngine
import MigrationWire

/// How the sender's connections come to READY.
extension SimulatedSender {
  /// Why a handshake came to nothing.
  enum DialEnd {
    case unreached
    case closed(hasExchanged: Bool)
    case aborted(AbortReason)
    case stranger(UInt64)
    case late
    case stopped
  }

  /// One handshake: connects, and says what stands before READY.
  final class Handshake {
    private let sender: SimulatedSender
    private let mode: ConnectionMode
    private let identity: Identity
    private let worker: Worker
    private let done: (SimulatedConnection?, UInt64, DialEnd?) -> Void
    private var connection: SimulatedConnection?
    private var isOver = false
    private var hasExchanged = false
    private var other: UInt64 = 0

    init(
      _ sender: SimulatedSender, _ mode: ConnectionMode, as identity: Identity, _ worker: Worker,
      _ done: @escaping (SimulatedConnection?, UInt64, DialEnd?) -> Void
    ) {
      self.sender = sender
      self.mode = mode
      self.identity = identity
      self.worker = worker
      self.done = done
    }

    func start() {
      let dice = sender.world.dice
      worker.whenTold = { [self] in sender.run(after: dice.roll(0...500)) { [self] in over(.stopped) } }
      if worker.mustEnd { worker.whenTold?() }
      sender.run(after: dice.roll(50...5_000)) { [self] in connect() }
      sender.run(after: 10_000_000) { [self] in over(.late) }
    }

    private func over(_ refusal: DialEnd?) {
      guard !isOver else { return }
      isOver = true
      worker.whenTold = nil
      connection?.stopReading()
      if refusal != nil { connection?.close() }
      done(refusal == nil ? connection : nil, other, refusal)
    }

    private func connect() {
      guard !isOver else { return }
      let ground = sender.ground
      guard !ground.isAway else { return over(.unreached) }
      // One that met another device at its first try would begin a second transfer beside the first.
      let isFirst = mode == .resume && sender.sessions.isEmpty
      let other = ground.world.now < ground.imposture && !isFirst ? Impostor.accept(ground) : nil
      guard let wire = ground.network.connect("\(mode)", from: ground.senderHost, to: other) else {
        return over(.unreached)
      }
      let made = sender.newConnection(wire)
      connection = made
      made.send(HandshakeMessage(.clientHello, identity.key).bytes)
      made.read { [self] in hear() }
    }

    private func hear() {
      guard let connection else { return }
      while !isOver, let bytes = connection.take(HandshakeMessage.size) {
        guard let message = HandshakeMessage(bytes) else { return over(.aborted(.malformed)) }
        take(message, connection)
      }
      if !isOver, connection.isEnded { over(.closed(hasExchanged: hasExchanged)) }
    }

    private func take(_ message: HandshakeMessage, _ connection: SimulatedConnection) {
      switch message.kind {
      case .serverHello:
        other = message.value
        if mode != .pair, other != identity.receiver {
          sender.hasMetStranger = true
          return over(.stranger(other))
        }
        connection.send(HandshakeMessage(.finished).bytes)
        connection.send(HandshakeMessage(.mode, UInt64(mode.rawValue)).bytes)
        if mode == .pair { connection.send(HandshakeMessage(.pairA).bytes) }
      case .pairB where mode == .pair:
        hasExchanged = true
        connection.send(HandshakeMessage(.confirmation, sender.code).bytes)
      case .ready:
        connection.send(HandshakeMessage(.heard).bytes)
        over(nil)
      case .abort: over(.aborted(AbortReason(rawValue: UInt8(truncatingIfNeeded: message.value)) ?? .malformed))
      default: over(.aborted(.malformed))
      }
    }
  }

  // MARK: The control connection

  func dial(_ purpose: Engine.Purpose) {
    world.check(dialer == nil, "the sender dials twice at a time")
    let worker = begin("dial")
    dialer = worker
    let mode: ConnectionMode
    let identity: Identity
    switch purpose {
    case .pair:
      mode = .pair
      identity = paired
    case .resume(let transfer):
      mode = .resume
      identity = transfer.flatMap { identities[$0] } ?? paired
    }
    if lacksThread { return dialed(worker, .failure(.failed(TransferFailure(.failed, "no thread")))) }
    run(after: world.dice.roll(0...1_000)) { [self] in
      feed(.dialing(first: "10.0.0.1"))
      Handshake(self, mode, as: identity, worker) { [self] connection, other, refusal in
        guard let connection else { return dialed(worker, .failure(failure(refusal ?? .unreached, mode))) }
        if mode == .pair { paired.receiver = other }
        connections[connection.id] = connection
        dialed(
          worker,
          .success(
            Engine.Meeting(
              connection: connection.id, receiver: KeyFingerprint(number: other), host: "10.0.0.1",
              address: "10.0.0.1:1")))
      }.start()
    }
  }

  private func dialed(_ worker: Worker, _ result: Result<Engine.Meeting, Engine.DialFailure>) {
    end(worker) { [self] in
      dialer = nil
      feed(.dialed(result, spread: spread))
    }
  }

  private func failure(_ refusal: DialEnd, _ mode: ConnectionMode) -> Engine.DialFailure {
    let lost = TransferFailure(.connectionLost, "the other device cannot be reached")
    let pairing = TransferFailure(.pairing, "the devices were not paired")
    switch refusal {
    case .stopped: return .stopped
    case .unreached: return .unreached(lost, reason: "it does not answer")
    case .stranger(let key): return .stranger(KeyFingerprint(number: key))
    case .aborted(.busy): return .turnedAway(TransferFailure(.refused, "busy"), reason: "it is busy")
    case .aborted(.unknownPeer) where mode == .resume: return .forgotten
    case .aborted: return .failed(pairing)
    case .late: return mode == .pair ? .failed(pairing) : .unreached(lost, reason: "it does not answer")
    case .closed(let hasExchanged):
      if mode == .pair, hasExchanged { return .failed(pairing) }
      return mode == .pair
        ? .turnedAway(pairing, reason: "it has closed the connection") : .unreached(lost, reason: "it was cut")
    }
  }
}
