import MigrationSystem
import MigrationTLS
import MigrationWire

/// The receiver's side of the frames before READY (Protocol §4.2).
enum ServerPairing {
  /// Reads the hello of a connection that has shaken hands.
  ///
  /// Throws a `ConnectionError`, a `Violation` or an `AbortReason`.
  static func hello(_ connection: inout Connection, until deadline: BootInstant) throws -> (ConnectionMode, [UInt8]) {
    guard case (.clientHello(let versions, let mode), let bytes) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    guard versions.contains(PairingFrame.version) else { throw AbortReason.version }
    return (mode, bytes)
  }

  /// Lets the client prove the code, and proves it back; `proven` is called in between. Throws as `hello` does, or a `TLSError`.
  static func pair(
    _ connection: inout Connection, hello: [UInt8], office: CodeOffice, own: KeyFingerprint,
    until deadline: BootInstant, proven: () -> Void = {}
  ) throws -> KeyFingerprint {
    guard case (.pairA(let clientShare), _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    let live = try office.live(for: connection.remoteAddress)
    guard let client = connection.peerFingerprint else {
      throw ConnectionError(.refused, "the other device has no key")
    }
    let binding = try connection.channelBinding()
    let answer = PairingFrame.serverHello(version: PairingFrame.version, mode: .pair)
    let exchange = try Spake2(
      role: .b, secret: live.secret, idA: PairingBinding.identityA(client: client, channelBinding: binding),
      idB: PairingBinding.identityB(server: own, channelBinding: binding),
      aad: PairingBinding.associatedData(clientHello: hello, serverHello: answer.bytes))
    let ownShare = exchange.share
    let keys = try exchange.finish(peerShare: clientShare)
    try connection.say(answer, .pairB(ownShare), until: deadline)
    guard case (.confirmA(let confirmation), _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
    let expected = keys.confirmA
    let refusal = office.judge(live.number, from: connection.remoteAddress) {
      constantTimeEqual(confirmation, expected)
    }
    if let refusal { throw refusal }
    proven()
    do {
      try connection.say(.confirmB(keys.confirmB), until: deadline)
      guard case (.ready, _) = try connection.pairingFrame(until: deadline) else {
        throw Violation(.state, "a frame before READY")
      }
    } catch {
      // The code is used up, but nobody was paired by it.
      office.reopen()
      throw error
    }
    return client
  }

  /// Lets a known client come back.
  static func welcome(
    back mode: ConnectionMode, on connection: inout Connection, until deadline: BootInstant
  ) throws {
    try connection.say(.serverHello(version: PairingFrame.version, mode: mode), until: deadline)
    guard case (.ready, _) = try connection.pairingFrame(until: deadline) else {
      throw Violation(.state, "a frame before READY")
    }
  }
}
