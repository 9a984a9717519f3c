import MigrationSystem
import MigrationTLS
import MigrationWire

/// The receiver's side of the frames before READY (Protocol §4.2). Every step throws a
/// `ConnectionError`, a `Violation`, an `AbortReason` or a `TLSError`.
enum ServerPairing {
  /// The result of an exchange.
  struct Exchange: Sendable {
    /// Whether the client has proved the code.
    let isRight: Bool
    /// The confirmation that proves it to the client.
    let confirmation: [UInt8]
  }

  /// Reads the hello of a connection that has shaken hands.
  static func hello(_ connection: inout Connection, until deadline: BootInstant) throws -> (ConnectionMode, [UInt8]) {
    guard case (.clientHello(let versions, let mode), let bytes) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    guard versions.contains(PairingFrame.version) else { throw AbortReason.version }
    return (mode, bytes)
  }

  /// Reads the client's share.
  static func share(_ connection: inout Connection, until deadline: BootInstant) throws -> [UInt8] {
    guard case (.pairA(let share), _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    return share
  }

  /// Answers the client's share, and reads its proof of the code whose secret this is.
  static func exchange(
    _ connection: inout Connection, hello: [UInt8], share: [UInt8], secret: PairingSecret, own: KeyFingerprint,
    until deadline: BootInstant
  ) throws -> Exchange {
    guard let client = connection.peerFingerprint else {
      throw ConnectionError(.refused, "the other device has no key")
    }
    let binding = try connection.channelBinding()
    let answer = PairingFrame.serverHello(version: PairingFrame.version, mode: .pair)
    let exchange = try Spake2(
      role: .b, secret: secret, idA: PairingBinding.identityA(client: client, channelBinding: binding),
      idB: PairingBinding.identityB(server: own, channelBinding: binding),
      aad: PairingBinding.associatedData(clientHello: hello, serverHello: answer.bytes))
    let ownShare = exchange.share
    let keys = try exchange.finish(peerShare: share)
    try connection.say(answer, .pairB(ownShare), until: deadline)
    guard case (.confirmA(let confirmation), _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    return Exchange(isRight: constantTimeEqual(confirmation, keys.confirmA), confirmation: keys.confirmB)
  }

  /// Proves the code to a client that has proved it.
  static func confirm(
    _ connection: inout Connection, _ confirmation: [UInt8], until deadline: BootInstant
  ) throws {
    try connection.say(.confirmB(confirmation), until: deadline)
    try ready(&connection, until: deadline)
  }

  /// Lets a known client come back.
  static func welcome(
    back mode: ConnectionMode, on connection: inout Connection, until deadline: BootInstant
  ) throws {
    try connection.say(.serverHello(version: PairingFrame.version, mode: mode), until: deadline)
    try ready(&connection, until: deadline)
  }

  private static func ready(_ connection: inout Connection, until deadline: BootInstant) throws {
    guard case (.ready, _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
  }

  /// Reads the JOIN behind READY.
  static func join(_ connection: inout Connection, until deadline: BootInstant) throws -> Join {
    let header = try connection.readExactly(Limits.frameHeader, until: deadline)
    let frame = try FrameHeader(header.span)
    guard frame.type == .join, frame.length == Join.size else {
      throw Violation(.state, "the first frame of a data stream")
    }
    let body = try connection.readExactly(frame.length, until: deadline)
    guard case .join(let join) = try StreamMessage(.join, body.span, 0..<body.count) else {
      throw Violation(.state, "the first frame of a data stream")
    }
    return join
  }
}
