import MigrationSystem
import MigrationTLS
import MigrationWire

/// The receiver's side of the frames before READY (Protocol §4.2).
enum ServerPairing {
  /// A frame that may not come now.
  private static let misplaced = ConnectionError(Violation(.state, "a frame before READY"))
  private static let notJoin = ConnectionError(Violation(.state, "the first frame of a data stream"))

  /// Reads the hello of a connection that has shaken hands.
  static func hello(
    _ connection: inout Connection, until deadline: BootInstant
  ) throws(ConnectionError) -> (ConnectionMode, [UInt8]) {
    guard case (.clientHello(let versions, let mode), let bytes) = try connection.pairingFrame(until: deadline) else {
      throw misplaced
    }
    guard versions.contains(PairingFrame.version) else { throw ConnectionError(.version) }
    return (mode, bytes)
  }

  /// Reads the client's share.
  static func share(_ connection: inout Connection, until deadline: BootInstant) throws(ConnectionError) -> [UInt8] {
    guard case (.pairA(let share), _) = try connection.pairingFrame(until: deadline) else { throw misplaced }
    return share
  }

  /// Answers the client's share, and reads its proof of the code whose secret this is. Returns
  /// whether the client has proved the code, and the confirmation that proves it to the client.
  static func exchange(
    _ connection: inout Connection, hello: [UInt8], share: [UInt8], secret: PairingSecret, own: KeyFingerprint,
    until deadline: BootInstant
  ) throws(ConnectionError) -> (isRight: Bool, confirmation: [UInt8]) {
    guard let client = connection.peerFingerprint else {
      throw ConnectionError(.refused, "the other device has no key")
    }
    let binding = try connection.channelBinding()
    let answer = PairingFrame.serverHello(version: PairingFrame.version, mode: .pair)
    let exchange = try TLSError.mapped(
      Spake2(
        role: .b, secret: secret, idA: PairingBinding.identityA(client: client, channelBinding: binding),
        idB: PairingBinding.identityB(server: own, channelBinding: binding),
        aad: PairingBinding.associatedData(clientHello: hello, serverHello: answer.bytes))
    ) { ConnectionError(.unproved, $0.description) }
    let ownShare = exchange.share
    let keys = try exchange.keys(with: share)
    try connection.say(answer, .pairB(ownShare), until: deadline)
    guard case (.confirmA(let confirmation), _) = try connection.pairingFrame(until: deadline) else { throw misplaced }
    return (isRight: constantTimeEqual(confirmation, keys.confirmA), confirmation: keys.confirmB)
  }

  /// Proves the code to a client that has proved it.
  static func confirm(
    _ connection: inout Connection, _ confirmation: [UInt8], until deadline: BootInstant
  ) throws(ConnectionError) {
    try connection.say(.confirmB(confirmation), until: deadline)
    try ready(&connection, until: deadline)
  }

  /// Lets a known client come back.
  static func welcome(
    back mode: ConnectionMode, on connection: inout Connection, until deadline: BootInstant
  ) throws(ConnectionError) {
    try connection.say(.serverHello(version: PairingFrame.version, mode: mode), until: deadline)
    try ready(&connection, until: deadline)
  }

  private static func ready(_ connection: inout Connection, until deadline: BootInstant) throws(ConnectionError) {
    guard case (.ready, _) = try connection.pairingFrame(until: deadline) else { throw misplaced }
  }

  /// Reads the JOIN after READY.
  static func join(_ connection: inout Connection, until deadline: BootInstant) throws(ConnectionError) -> Join {
    let header = try connection.readExactly(Limits.frameHeader, until: deadline)
    let frame = try Violation.mapped(FrameHeader(header.span)) { ConnectionError($0) }
    guard frame.type == .join, frame.length == Join.size else { throw notJoin }
    let body = try connection.readExactly(frame.length, until: deadline)
    let message = try Violation.mapped(StreamMessage(.join, body.span, 0..<body.count)) { ConnectionError($0) }
    guard case .join(let join) = message else { throw notJoin }
    return join
  }
}
