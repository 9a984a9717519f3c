import MigrationSystem
import MigrationTLS
import MigrationWire

/// The sender's side of the frames before READY (Protocol §4.2).
enum ClientPairing {
  /// Proves the code, and checks the receiver's proof of it. The connection is at READY afterwards.
  ///
  /// Throws a `ConnectionError`, a `Violation`, an `AbortReason` or a `TLSError`; a `TurnedAway`
  /// while the code is not judged.
  static func pair(
    _ connection: inout Connection, secret: PairingSecret, own: KeyFingerprint, until deadline: BootInstant
  ) throws -> KeyFingerprint {
    guard let server = connection.peerFingerprint else {
      throw ConnectionError(.refused, "the other device has no key")
    }
    let keys = try TurnedAway.unless { try exchange(&connection, secret, own, server, until: deadline) }
    try TurnedAway.unless { try connection.say(.confirmA(keys.confirmA), until: deadline) }
    let answer: PairingFrame
    do {
      (answer, _) = try connection.pairingFrame(until: deadline)
    } catch AbortReason.busy {
      // It was not judged, since others have guessed too often lately.
      throw TurnedAway(reason: AbortReason.busy)
    }
    guard case .confirmB(let confirmation) = answer else { throw Violation(.state, "a frame before READY") }
    guard constantTimeEqual(confirmation, keys.confirmB) else { throw AbortReason.codeMismatch }
    try connection.say(.ready, until: deadline)
    return server
  }

  /// Exchanges the shares of both ends. Returns the confirmation that each end will send.
  private static func exchange(
    _ connection: inout Connection, _ secret: PairingSecret, _ own: KeyFingerprint, _ server: KeyFingerprint,
    until deadline: BootInstant
  ) throws -> Spake2Keys {
    let hello = PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair)
    let binding = try connection.channelBinding()
    // The AAD needs the answer to the hello, the share does not; so one round trip serves both.
    let answer = PairingFrame.serverHello(version: PairingFrame.version, mode: .pair).bytes
    let exchange = try Spake2(
      role: .a, secret: secret, idA: PairingBinding.identityA(client: own, channelBinding: binding),
      idB: PairingBinding.identityB(server: server, channelBinding: binding),
      aad: PairingBinding.associatedData(clientHello: hello.bytes, serverHello: answer))
    try connection.say(hello, .pairA(exchange.share), until: deadline)
    let (serverHello, bytes) = try connection.pairingFrame(until: deadline)
    guard case .serverHello = serverHello, bytes == answer else { throw Violation(.value, "the hello") }
    guard case (.pairB(let share), _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    return try exchange.finish(peerShare: share)
  }

  /// Comes back to a receiver that is known by its key: to resume, or to join a data stream.
  ///
  /// Nothing is sent to another device. Throws as `pair` does.
  static func come(
    back mode: ConnectionMode, on connection: inout Connection, to pinned: KeyFingerprint, until deadline: BootInstant
  ) throws {
    guard connection.peerFingerprint == pinned else { throw PinMismatch() }
    let versions = PairingFrame.version...PairingFrame.version
    try connection.say(.clientHello(versions: versions, mode: mode), until: deadline)
    guard case (.serverHello(PairingFrame.version, mode), _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.value, "the hello")
    }
    try connection.say(.ready, until: deadline)
  }
}

/// The other device shows a key that is not the pinned one.
package struct PinMismatch: Error {
  package init() {}
}

/// The other device had no room for a connection, or no time, and has judged no code: the same may
/// be tried again.
package struct TurnedAway: Error {
  let reason: any Error

  /// Passes on what `body` throws; as this where it was turned away or cut.
  package static func unless<Value: ~Copyable>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch {
      let isCut = (error as? ConnectionError).map { [.lost, .closed, .timedOut].contains($0.code) } ?? false
      throw isCut || error as? AbortReason == .busy ? TurnedAway(reason: error) : error
    }
  }
}
