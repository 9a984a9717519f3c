import COpenSSL
import Expectations
import Testing

@testable import MigrationTLS

@Suite struct HandshakeTests {
  @Test(arguments: [1, 7, 1_000, Int.max])
  func `both ends learn each other's fingerprint, in pieces of any size`(batch: Int) throws {
    let client = try Identity.generate()
    let server = try Identity.generate()
    var link = Link(
      try TLSSession(TLSContext(role: .client, identity: client)),
      try TLSSession(TLSContext(role: .server, identity: server)))
    try link.shakeHands(batch: batch)
    let seen = (link.client.peerFingerprint, link.server.peerFingerprint)
    expect(seen.0, is: server.fingerprint)
    expect(seen.1, is: client.fingerprint)
  }

  @Test func `neither end knows a fingerprint before the handshake`() throws {
    let link = try Link()
    let seen = (link.client.peerFingerprint, link.server.peerFingerprint, link.client.negotiatedCipher)
    expect(seen == (nil, nil, ""))
  }

  @Test func `both ends agree on the cipher that is fast on this processor`() throws {
    let link = try Link.established()
    let ciphers = [link.client.negotiatedCipher, link.server.negotiatedCipher]
    let expected = peer_cpu_has_aes_gcm() != 0 ? "TLS_AES_128_GCM_SHA256" : "TLS_CHACHA20_POLY1305_SHA256"
    expect(ciphers, is: [expected, expected])
  }

  @Test func `both ends agree on the channel binding, and another session has another`() throws {
    let link = try Link.established()
    let client = try link.client.channelBinding()
    let server = try link.server.channelBinding()
    expect(client.count, is: 32)
    expect(client, is: server)
    let other = try Link.established()
    let otherClient = try other.client.channelBinding()
    expect(client != otherClient)
  }

  @Test func `a man in the middle has two different channel bindings`() throws {
    let victims = (try Identity.generate(), try Identity.generate())
    let middle = try Identity.generate()
    var left = Link(
      try TLSSession(TLSContext(role: .client, identity: victims.0)),
      try TLSSession(TLSContext(role: .server, identity: middle)))
    var right = Link(
      try TLSSession(TLSContext(role: .client, identity: middle)),
      try TLSSession(TLSContext(role: .server, identity: victims.1)))
    try left.shakeHands()
    try right.shakeHands()
    let bindings = (try left.client.channelBinding(), try right.server.channelBinding())
    expect(bindings.0 != bindings.1)
    let seen = (left.client.peerFingerprint, right.server.peerFingerprint)
    expect(seen.0, is: middle.fingerprint)
    expect(seen.1, is: middle.fingerprint)
  }

  @Test func `the server sends nothing of its own after the handshake`() throws {
    var link = try Link()
    _ = try link.client.handshake()
    link.carryToServer()
    _ = try link.server.handshake()
    link.carryToClient()
    let client = try link.client.handshake()
    link.carryToServer()
    let server = try link.server.handshake()
    expect(client, is: .finished)
    expect(server, is: .finished)
    let pending = link.server.pendingOutput
    expect(pending, is: 0)
    let written = try link.server.writeAll([1, 2, 3])
    expect(written)
    // One record: its header, the data, its type and its tag.
    let record = link.server.pendingOutput
    expect(record, is: 5 + 3 + 1 + 16)
  }

  @Test func `every later call throws the first error again`() throws {
    var link = try Link()
    link.server.put(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    let errors = (0..<2).map { _ in #expect(throws: TLSError.self) { _ = try link.server.handshake() } }
    expect(errors[0], is: errors[1])
    expect(errors[0]?.code, is: .handshakeRefused)
    expect(openSSLErrorIsPending, is: false)
    #expect(throws: TLSError.self) { _ = try link.server.readAll() }
  }

  @Test func `a transport that ends in the handshake is reported as truncation`() throws {
    var link = try Link()
    _ = try link.client.handshake()
    let hello = link.client.takeOutput()
    link.server.put(Array(hello.dropLast()))
    link.server.transportEnded()
    let error = #expect(throws: TLSError.self) { _ = try link.server.handshake() }
    expect(error?.code, is: .truncated)
  }
}
