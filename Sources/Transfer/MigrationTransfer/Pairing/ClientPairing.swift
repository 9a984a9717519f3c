import MigrationSystem
import MigrationTLS
import MigrationWire

/// The sender's side of the frames before READY (Protocol §4.2).
enum ClientPairing {
  /// A run of SPAKE2 and the other end's share, which nothing was computed from.
  struct Shares: ~Copyable {
    let server: KeyFingerprint
    fileprivate let exchange: Spake2
    fileprivate let share: [UInt8]
  }

  /// Exchanges the shares of both ends: nothing that either end says depends on the code alone.
  static func exchange(
    on connection: inout Connection, _ secret: PairingSecret, own: KeyFingerprint, until deadline: BootInstant
  ) throws(ConnectionError) -> Shares {
    guard let server = connection.peerFingerprint else {
      throw ConnectionError(.refused, "the other device has no key")
    }
    let hello = PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair)
    let binding = try connection.channelBinding()
    // The AAD needs the answer to the hello, the share does not; so one round trip serves both.
    let answer = PairingFrame.serverHello(version: PairingFrame.version, mode: .pair).bytes
    let exchange = try TLSError.mapped(
      Spake2(
        role: .a, secret: secret, idA: PairingBinding.identityA(client: own, channelBinding: binding),
        idB: PairingBinding.identityB(server: server, channelBinding: binding),
        aad: PairingBinding.associatedData(clientHello: hello.bytes, serverHello: answer))
    ) { ConnectionError(.unproved, $0.description) }
    try connection.say(hello, .pairA(exchange.share), until: deadline)
    let (serverHello, bytes) = try connection.pairingFrame(until: deadline)
    guard case .serverHello = serverHello, bytes == answer else { throw otherHello }
    guard case (.pairB(let share), _) = try connection.pairingFrame(until: deadline) else {
      throw ConnectionError(Violation(.state, "a frame before READY"))
    }
    return Shares(server: server, exchange: exchange, share: share)
  }

  /// Proves the code, and checks the receiver's proof of it. READY is still to be said. Each answer to
  /// the other end's share, an error too, lets it test one guess.
  static func prove(
    _ shares: consuming Shares, on connection: inout Connection, until deadline: BootInstant
  ) throws(ConnectionError) {
    let keys = try shares.exchange.keys(with: shares.share)
    try connection.say(.confirmA(keys.confirmA), until: deadline)
    guard case (.confirmB(let confirmation), _) = try connection.pairingFrame(until: deadline) else {
      throw ConnectionError(Violation(.state, "a frame before READY"))
    }
    guard constantTimeEqual(confirmation, keys.confirmB) else { throw ConnectionError(.codeMismatch) }
  }

  private static let otherHello = ConnectionError(Violation(.value, "the hello"))

  /// Comes back to a receiver that is known by its key: to resume, or to join a data stream. TLS has
  /// refused every other device.
  static func come(
    back mode: ConnectionMode, on connection: inout Connection, until deadline: BootInstant
  ) throws(ConnectionError) {
    let versions = PairingFrame.version...PairingFrame.version
    try connection.say(.clientHello(versions: versions, mode: mode), until: deadline)
    guard case (.serverHello(PairingFrame.version, mode), _) = try connection.pairingFrame(until: deadline) else {
      throw otherHello
    }
    try connection.say(.ready, until: deadline)
  }
}

/// The frames before READY on a connection, with an absolute deadline.
extension Connection {
  /// The next frame. An ABORT is thrown.
  mutating func pairingFrame(until deadline: BootInstant) throws(ConnectionError) -> (PairingFrame, bytes: [UInt8]) {
    let header = try readExactly(PairingFrame.headerSize, until: deadline)
    let length = try Violation.mapped(PairingFrame.length(header.span)) { ConnectionError($0) }
    let body = length > header.count ? try readExactly(length - header.count, until: deadline) : []
    let frame = try Violation.mapped(PairingFrame((header + body).span)) { ConnectionError($0) }
    if case .abort(let reason, let details) = frame { throw ConnectionError(told: reason, details) }
    if frame == .ready { passReady() }
    return (frame, header + body)
  }

  /// Sends frames together.
  mutating func say(_ frames: PairingFrame..., until deadline: BootInstant) throws(ConnectionError) {
    if frames.contains(.ready) { passReady() }
    try writeAll(frames.flatMap(\.bytes), until: deadline)
  }

  /// Tells the other end why there will be no READY, if it reads that within the pause.
  mutating func abort(_ reason: AbortReason, within pause: Duration = .seconds(1)) {
    end(with: .abort(saying: reason), within: pause)
  }

  /// Sends a last frame, if the other end reads it within the pause.
  mutating func end(with frame: PairingFrame, within pause: Duration = .seconds(1)) {
    let deadline = BootInstant.now().advanced(by: pause)
    try? writeAll(frame.bytes, until: deadline)
    close(by: deadline)
  }
}

extension Spake2 {
  /// Finishes the exchange with the other end's share.
  consuming func keys(with share: [UInt8]) throws(ConnectionError) -> Spake2.Keys {
    do {
      return try finish(peerShare: share)
    } catch {
      throw ConnectionError(.unproved, error.description)
    }
  }
}
