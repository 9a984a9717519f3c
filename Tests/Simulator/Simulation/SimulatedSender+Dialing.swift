import MigrationEngine
import MigrationTransfer
import MigrationWire

/// How the sender's connections reach READY.
extension SimulatedSender {
  /// One handshake: connects, and exchanges the messages before READY. It fails like a real one.
  final class Handshake {
    /// The progress of a handshake.
    enum Step {
      case connecting
      /// TCP has connected.
      case reached
      /// TLS is established.
      case secured
      /// The proof of the code is being exchanged.
      case proving
    }

    private(set) var step = Step.connecting
    /// The other end's key.
    private(set) var other: UInt64 = 0
    private(set) var result: Result<SimulatedConnection, ConnectionError> = .failure(ConnectionError(.stopped, ""))
    private let sender: SimulatedSender
    private let mode: ConnectionMode
    private let identity: Identity
    private let device: DialedDevice
    private let worker: Worker
    private let done: (Handshake) -> Void
    private var connection: SimulatedConnection?
    private var isOver = false

    init(
      _ sender: SimulatedSender, _ mode: ConnectionMode, as identity: Identity, with device: DialedDevice,
      _ worker: Worker,
      _ done: @escaping (Handshake) -> Void
    ) {
      self.sender = sender
      self.mode = mode
      self.identity = identity
      self.device = device
      self.worker = worker
      self.done = done
    }

    func start() {
      let dice = sender.world.dice
      worker.whenTold = { [self] in
        sender.run(after: dice.roll(0...500)) { [self] in fail(.stopped, "it was stopped") }
      }
      if worker.mustEnd { worker.whenTold?() }
      sender.run(after: dice.roll(50...5_000)) { [self] in connect() }
      sender.run(after: 10_000_000) { [self] in fail(.timedOut, "it takes too long") }
    }

    private func fail(_ code: ConnectionError.Code, _ words: String) { over(.failure(ConnectionError(code, words))) }

    private func over(_ result: Result<SimulatedConnection, ConnectionError>) {
      guard !isOver else { return }
      isOver = true
      worker.whenTold = nil
      connection?.stopReading()
      if case .failure = result { connection?.close() }
      self.result = result
      done(self)
    }

    private func connect() {
      guard !isOver else { return }
      let scene = sender.scene
      guard !scene.isAway, device != .vacant else { return fail(.lost, "the network is away") }
      // A sender that meets another device at its first attempt would begin a second transfer
      // beside the first.
      let isFirst = mode == .resume && sender.sessions.isEmpty
      let isImpostor = scene.world.now < scene.imposture && !isFirst || device == .stranger
      let other = isImpostor ? Impostor.accept(scene) : nil
      guard let wire = scene.network.connect("\(mode)", from: scene.senderHost, to: other) else {
        return fail(.lost, "no device listens")
      }
      step = .reached
      let made = sender.newConnection(wire)
      connection = made
      made.send(HandshakeMessage(.clientHello, identity.key).bytes)
      made.read { [self] in hear() }
    }

    private func hear() {
      guard let connection else { return }
      while !isOver, let bytes = connection.take(HandshakeMessage.size) {
        guard let message = HandshakeMessage(bytes) else {
          return over(.failure(ConnectionError(Violation(.value, "a frame before READY"))))
        }
        take(message, connection)
      }
      if !isOver, connection.isEnded { fail(.closed, "the other device closed the connection") }
    }

    private func take(_ message: HandshakeMessage, _ connection: SimulatedConnection) {
      switch message.kind {
      case .serverHello:
        other = message.value
        step = .secured
        if mode != .pair, other != identity.receiver {
          sender.hasMetStranger = true
          return over(.failure(.stranger(KeyFingerprint(number: other))))
        }
        connection.send(HandshakeMessage(.finished).bytes)
        connection.send(HandshakeMessage(.mode, UInt64(mode.rawValue)).bytes)
        if mode == .pair { connection.send(HandshakeMessage(.pairA).bytes) }
      case .pairB where mode == .pair:
        step = .proving
        guard sender.spendTry() else { return fail(.unproved, "the code is used up") }
        connection.send(HandshakeMessage(.confirmation, sender.code).bytes)
      case .ready:
        // The receiver proves the code as well.
        if mode == .pair, step != .proving || message.value != sender.code {
          sender.hasMetStranger = true
          return over(.failure(ConnectionError(AbortReason.codeMismatch)))
        }
        if mode == .pair { sender.scene.codes.giveBack(sender.code) }
        connection.send(HandshakeMessage(.heard).bytes)
        over(.success(connection))
      case .abort:
        over(.failure(ConnectionError(AbortReason(rawValue: UInt8(truncatingIfNeeded: message.value)) ?? .malformed)))
      default: over(.failure(ConnectionError(Violation(.state, "a frame before READY"))))
      }
    }
  }

  // MARK: A probe of the receiver

  /// The device at a place.
  enum DialedDevice {
    case receiver
    case stranger
    case vacant
  }

  func device(at place: Place) -> DialedDevice {
    switch place {
    case .target, .relay: .receiver
    case .probed: probed
    case .address(let address):
      address == scene.receiverAddress ? .receiver : world.dice.one(in: 3) ? .stranger : .vacant
    case .found(let index):
      found[index] == nil ? .stranger : found[index] == scene.receiverAddress ? .receiver : .vacant
    }
  }

  /// Finds the devices that wait in this network. Other devices are never found without the
  /// receiver: a sender that pairs with one of them would begin a second transfer beside the first.
  func look() {
    world.check(dialer == nil, "the sender searches while it dials")
    let worker = begin("look")
    dialer = worker
    var isOver = false
    let looked = { [self] (result: Result<[String?], Fault>) in
      guard !isOver else { return }
      isOver = true
      end(worker) { [self] in
        dialer = nil
        found = (try? result.get()) ?? []
        let nearby = result.map { found in
          found.map {
            DeviceAddress(name: $0 == nil ? "other" : "receiver", host: $0 ?? "10.0.0.9", port: 1)
          }
        }
        feed(.found(nearby, spread: spread))
      }
    }
    worker.whenTold = { looked(.success([])) }
    if lacksThread { return looked(.failure(Fault(.device, "no thread"))) }
    run(after: 3_000_000) { [self] in
      guard !scene.isAway, scene.network.accept != nil else { return looked(.success([])) }
      var found: [String?] = [scene.receiverAddress]
      while world.dice.one(in: 3) { found.insert(nil, at: world.dice.roll(0...found.count)) }
      looked(.success(found))
    }
  }

  /// A connection that sends nothing, and is closed as soon as it is established.
  func probe(at place: Place) {
    world.check(dialer == nil, "the sender probes while it dials")
    let worker = begin("probe")
    dialer = worker
    var isOver = false
    let probed = { [self] (result: Result<DeviceAddress, Engine.ProbeFailure>) in
      guard !isOver else { return }
      isOver = true
      end(worker) { [self] in
        dialer = nil
        feed(.probed(result))
      }
    }
    let device = DeviceAddress(name: nil, host: "10.0.0.1", port: 1)
    worker.whenTold = { probed(.failure(.stopped)) }
    if lacksThread { return probed(.failure(.failed(TransferFailure(.failed, "no thread")))) }
    run(after: world.dice.roll(50...5_000)) { [self] in
      guard !isOver else { return }
      if scene.isAway {
        if world.dice.one(in: 3) {
          return probed(.failure(.unresolved(TransferFailure(.connectionLost, "the name is not found"))))
        }
        guard world.dice.one(in: 2) else { return probed(.failure(.unreached(device, by: .noWay))) }
        return run(after: 5_000_000) { probed(.failure(.unreached(device, by: .silent))) }
      }
      self.probed = self.device(at: place)
      let other = self.probed == .stranger ? Impostor.accept(scene) : nil
      guard self.probed != .vacant, let wire = scene.network.connect("probe", from: scene.senderHost, to: other)
      else {
        return probed(.failure(.unreached(device, by: .refused)))
      }
      newConnection(wire).close()
      probed(.success(device))
    }
  }

  // MARK: The control connection

  func dial(_ purpose: Engine.Purpose, at place: Place) {
    world.check(dialer == nil, "the sender dials twice at once")
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
    case .greet:
      mode = .resume
      // Another process that uses the key keeps this one out.
      guard !hasTwin, let kept = scene.keptAtSender else { return dialed(worker, .failure(.forgotten)) }
      paired = kept
      identity = kept
    }
    if lacksThread { return dialed(worker, .failure(.failed(TransferFailure(.failed, "no thread")))) }
    run(after: world.dice.roll(0...1_000)) { [self] in
      // Without a network, names may not resolve.
      if scene.isAway, world.dice.one(in: 3) {
        return dialed(worker, .failure(.unresolved(TransferFailure(.connectionLost, "the name is not found"))))
      }
      feed(.dialing(first: "10.0.0.1"))
      Handshake(self, mode, as: identity, with: device(at: place), worker) { [self] handshake in
        switch handshake.result {
        case .failure(let error): dialed(worker, .failure(worker.mustEnd ? .stopped : failure(error, handshake, mode)))
        case .success(let connection): met(connection, handshake.other, worker, mode)
        }
      }.start()
    }
  }

  private func met(_ connection: SimulatedConnection, _ other: UInt64, _ worker: Worker, _ mode: ConnectionMode) {
    if mode == .pair { paired.receiver = other }
    world.check(
      mode != .pair || other != Impostor.key, "the sender pairs with a device that does not know the code")
    connections[connection.id] = connection
    scene.lastAddress = scene.receiverAddress
    dialed(
      worker,
      .success(
        Engine.Meeting(
          connection: connection.id, receiver: KeyFingerprint(number: other), host: "10.0.0.1",
          address: scene.receiverAddress, relay: scene.relay, own: scene.ownWays)))
  }

  private func dialed(_ worker: Worker, _ result: Result<Engine.Meeting, Engine.DialFailure>) {
    end(worker) { [self] in
      dialer = nil
      feed(.dialed(result, spread: spread))
    }
  }

  /// The dial failure that a worker derives from an error, at each step of the handshake.
  private func failure(_ error: ConnectionError, _ handshake: Handshake, _ mode: ConnectionMode) -> Engine.DialFailure {
    guard mode == .pair else { return .init(ofReturn: error) }
    switch (handshake.step, error.isCut) {
    case (.connecting, true): return .init(unreached: error, isReached: false)
    case (.reached, true): return .init(unreached: error, isReached: true)
    default: return .init(ofPairing: error, hasProved: handshake.step == .proving)
    }
  }
}
