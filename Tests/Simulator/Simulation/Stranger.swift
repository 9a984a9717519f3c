import MigrationEngine
import MigrationWire

/// Another device at the receiver's address, with a key of its own.
final class Impostor: Device {
  static let key: UInt64 = 0xBAD

  /// Takes a connection.
  static func accept(_ scene: Scene) -> (Wire, String) -> Void {
    scene.tally.impostors += 1
    return { wire, _ in
      let impostor = Impostor(scene, .receiver)
      let connection = SimulatedConnection(ConnectionID(0), wire, .server, of: impostor)
      connection.read { impostor.hear(connection) }
    }
  }

  private func hear(_ connection: SimulatedConnection) {
    while let bytes = connection.take(HandshakeMessage.size), let message = HandshakeMessage(bytes) {
      switch message.kind {
      case .clientHello: connection.send(HandshakeMessage(.serverHello, Self.key).bytes)
      case .pairA: connection.send(HandshakeMessage(.pairB).bytes)
      case .confirmation:
        switch world.dice.roll(0...3) {
        case 0:
          // A proof of another code.
          connection.send(HandshakeMessage(.ready, message.value &+ 1).bytes)
        case 1: return connection.close()
        case let number:
          let reason: AbortReason = number == 2 ? .codeMismatch : .busy
          connection.send(HandshakeMessage(.abort, UInt64(reason.rawValue)).bytes)
          return connection.close()
        }
      default: break
      }
    }
    if connection.isEnded { connection.close() }
  }
}

/// A connection of neither device: it is silent, late, sends nonsense, guesses, or disconnects at
/// any step.
final class Stranger: Device {
  /// The behaviour of a stranger.
  private enum Kind: Int, CaseIterable {
    case silent
    case noise
    case breaksOffInTLS
    case breaksOffBehindTLS
    case guesses
    case resumes
    case joins
    case breaksOffBehindProof
  }

  private let kind: Kind

  /// One stranger connects, or a few at a time.
  static func come(to scene: Scene) {
    let dice = scene.world.dice
    for _ in 0..<(dice.one(in: 4) ? dice.roll(2...5) : 1) {
      let stranger = Stranger(scene, Kind.allCases[dice.roll(0...Kind.allCases.count - 1)])
      scene.world.after(dice.roll(0...20_000)) { stranger.begin() }
    }
  }

  private init(_ scene: Scene, _ kind: Kind) {
    self.kind = kind
    super.init(scene, .sender)
  }

  private func begin() {
    guard let wire = scene.network.connect("stranger", from: "192.0.2.\(world.dice.roll(1...3))") else { return }
    let made = SimulatedConnection(ConnectionID(0), wire, .client, of: self)
    made.read { [self] in hear(made) }
    let pause = world.dice.one(in: 3) ? world.dice.roll(0...6_000_000) : world.dice.roll(0...2_000)
    world.after(world.dice.roll(1_000...20_000_000)) { wire.cut() }
    world.after(pause) { [self] in speak(made) }
  }

  private func speak(_ connection: SimulatedConnection) {
    switch kind {
    case .silent: break
    case .noise: connection.send(Array("GET / HTTP/1.1".utf8))
    case .breaksOffInTLS:
      connection.send(HandshakeMessage(.clientHello, 0).bytes)
      connection.close()
    case .breaksOffBehindTLS, .guesses, .resumes, .joins, .breaksOffBehindProof:
      // Some have no key at all.
      connection.send(HandshakeMessage(.clientHello, world.dice.one(in: 4) ? 0 : world.dice.next() | 1).bytes)
    }
  }

  private func hear(_ connection: SimulatedConnection) {
    while let bytes = connection.take(HandshakeMessage.size), let message = HandshakeMessage(bytes) {
      switch message.kind {
      case .serverHello:
        connection.send(HandshakeMessage(.finished).bytes)
        if kind == .breaksOffBehindTLS { return connection.close() }
        let mode: ConnectionMode = kind == .resumes ? .resume : kind == .joins ? .join : .pair
        connection.send(HandshakeMessage(.mode, UInt64(mode.rawValue)).bytes)
        if mode == .pair { connection.send(HandshakeMessage(.pairA).bytes) }
      case .pairB:
        connection.send(HandshakeMessage(.confirmation, UInt64(world.dice.roll(0...9_999_999))).bytes)
        if kind == .breaksOffBehindProof { return connection.close() }
      case .ready: world.fail("a stranger was let in")
      default: return connection.close()
      }
    }
    if connection.isEnded { connection.close() }
  }
}
