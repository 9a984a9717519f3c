import COpenSSL
import Expectations
import MigrationWire
import Testing

@testable import MigrationTLS

@Suite struct RefusalTests {
  private func honest(_ role: TLSContext.Role) throws -> TLSSession {
    try TLSSession(TLSContext(role: role, identity: .generate()))
  }

  @Test func `a client without a certificate is refused`() throws {
    var link = Link(try TLSSession(TLSContext(role: .client, showing: nil)), try honest(.server))
    let errors = link.handshakeErrors()
    expect(errors.server?.code, is: .certificateUnacceptable)
    expect(errors.client?.code, is: .handshakeRefused)
    let admitted = link.server.peerFingerprint
    expect(admitted == nil)
  }

  @Test func `a client that speaks only TLS 1.2 is refused`() throws {
    let old = peerContext(.client, key: peer_EVP_EC_gen("P-256"), maximum: TLS1_2_VERSION)
    var link = Link(try TLSSession(old), try honest(.server))
    let errors = link.handshakeErrors()
    expect(errors.server?.code, is: .handshakeRefused)
    expect(errors.client?.code, is: .handshakeRefused)
  }

  @Test func `a server that speaks only TLS 1.2 is refused`() throws {
    let old = peerContext(.server, key: peer_EVP_EC_gen("P-256"), maximum: TLS1_2_VERSION)
    var link = Link(try honest(.client), try TLSSession(old))
    let errors = link.handshakeErrors()
    expect(errors.client?.code, is: .handshakeRefused)
  }

  @Test(arguments: [TLSContext.Role.client, .server], ["RSA", "P-384"])
  func `a peer with another kind of key is refused`(role: TLSContext.Role, kind: String) throws {
    let key = kind == "RSA" ? peer_EVP_RSA_gen(2048) : peer_EVP_EC_gen("P-384")
    let stranger = try TLSSession(peerContext(role, key: key))
    let errors: (client: TLSError?, server: TLSError?)
    switch role {
    case .client:
      var link = Link(stranger, try honest(.server))
      errors = link.handshakeErrors()
      expect(errors.server?.code, is: .certificateUnacceptable)
    case .server:
      var link = Link(try honest(.client), stranger)
      errors = link.handshakeErrors()
      expect(errors.client?.code, is: .handshakeRefused)
    }
  }

  @Test(arguments: ["RSA", "P-384", "P-521"])
  func `a certificate with another kind of key has no fingerprint`(kind: String) throws {
    let key = kind == "RSA" ? peer_EVP_RSA_gen(2048) : peer_EVP_EC_gen(kind)
    defer { EVP_PKEY_free(key) }
    let certificate = peerCertificate(key)
    defer { X509_free(certificate) }
    let error = #expect(throws: TLSError.self) { try KeyFingerprint(ofCertificate: certificate) }
    expect(error?.code, is: .certificateUnacceptable)
  }

  @Test func `a key in its compressed encoding has no fingerprint`() throws {
    let key = peer_EVP_EC_gen("P-256")
    defer { EVP_PKEY_free(key) }
    let plain = peerCertificate(key)
    defer { X509_free(plain) }
    #expect(throws: Never.self) { try KeyFingerprint(ofCertificate: plain) }
    expect(EVP_PKEY_set_utf8_string_param(key, "point-format", "compressed"), is: 1)
    let compressed = peerCertificate(key)
    defer { X509_free(compressed) }
    let error = #expect(throws: TLSError.self) { try KeyFingerprint(ofCertificate: compressed) }
    expect(error?.code, is: .certificateUnacceptable)
  }

  @Test func `a server with a P-256 key in its compressed encoding is refused by its certificate`() throws {
    let key = peer_EVP_EC_gen("P-256")
    expect(EVP_PKEY_set_utf8_string_param(key, "point-format", "compressed"), is: 1)
    var link = Link(try honest(.client), try TLSSession(peerContext(.server, key: key)))
    let errors = link.handshakeErrors()
    expect(errors.client?.code, is: .certificateUnacceptable)
    expect(errors.server?.code, is: .handshakeRefused)
  }

  @Test func `a peer with a chain of two certificates is refused`() throws {
    let key = peer_EVP_EC_gen("P-256")
    EVP_PKEY_up_ref(key)
    defer { EVP_PKEY_free(key) }
    let context = peerContext(.server, key: key)
    let second = peerCertificate(key)
    context.withPointer { _ = SSL_CTX_ctrl($0, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(second)) }
    var link = Link(try honest(.client), try TLSSession(context))
    let errors = link.handshakeErrors()
    expect(errors.client?.code, is: .certificateUnacceptable)
  }

  @Test func `a peer that shows this end's own key is refused on both sides`() throws {
    let identity = try Identity.generate()
    var link = Link(
      try TLSSession(TLSContext(role: .client, identity: identity)),
      try TLSSession(TLSContext(role: .server, identity: identity)))
    let errors = link.handshakeErrors()
    expect(errors.client?.code, is: .reflected)
    expect(errors.server?.code, is: .reflected)
    let seen = (link.client.peerFingerprint, link.server.peerFingerprint)
    expect(seen == (nil, nil))
  }

  @Test func `a client with a pin shows a stranger no certificate, and knows the stranger's key`() throws {
    let (own, other) = (try Identity.generate(), try Identity.generate())
    let context = try TLSContext(role: .server, identity: other)
    for pinned in [try Identity.generate().fingerprint, other.fingerprint] {
      var link = Link(
        try TLSSession(TLSContext(role: .client, identity: own), pinned: pinned), try TLSSession(context))
      let errors = link.handshakeErrors()
      let isRight = pinned == other.fingerprint
      expect(errors.client?.code, is: (isRight ? nil : .certificateUnacceptable))
      expect(errors.server?.code, is: (isRight ? nil : .handshakeRefused))
      let (server, stranger) = (link.client.peerFingerprint, link.client.stranger)
      let client = link.server.peerFingerprint
      expect(server, is: (isRight ? pinned : nil))
      expect(stranger, is: (isRight ? nil : other.fingerprint))
      expect(client, is: (isRight ? own.fingerprint : nil))
      var hasCertificate = false
      link.server.withPointer { hasCertificate = SSL_get0_peer_certificate($0) != nil }
      expect(hasCertificate, is: isRight)
    }
  }

  @Test(arguments: [TLSContext.Role.client, .server])
  func `the context has every setting of the protocol`(role: TLSContext.Role) throws {
    try TLSContext(role: role, identity: .generate()).withPointer { context in
      expect(peer_SSL_CTX_get_min_proto_version(context), is: TLS1_3_VERSION)
      expect(peer_SSL_CTX_get_max_proto_version(context), is: TLS1_3_VERSION)
      expect(SSL_CTX_get_num_tickets(context), is: 0)
      expect(SSL_CTX_get_max_early_data(context), is: 0)
      expect(SSL_CTX_get_recv_max_early_data(context), is: 0)
      expect(peer_SSL_CTX_get_session_cache_mode(context), is: Int(SSL_SESS_CACHE_OFF))
      expect(peer_SSL_CTX_get_read_ahead(context), is: 0)
      let on =
        peer_SSL_OP_NO_TICKET | peer_SSL_OP_NO_COMPRESSION | peer_SSL_OP_NO_RENEGOTIATION
        | peer_SSL_OP_CIPHER_SERVER_PREFERENCE | peer_SSL_OP_PRIORITIZE_CHACHA
      let off = peer_SSL_OP_IGNORE_UNEXPECTED_EOF | peer_SSL_OP_ENABLE_KTLS | peer_SSL_OP_ALLOW_NO_DHE_KEX
      expect(SSL_CTX_get_options(context) & on, is: on)
      expect(SSL_CTX_get_options(context) & off, is: 0)
      let modes = Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
      expect(peer_SSL_CTX_get_mode(context) & modes, is: modes)
      expect(SSL_CTX_get_verify_mode(context) == SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT)
    }
  }
}

/// A context that keeps none of the product's rules and accepts any peer. It owns `key` from now
/// on.
private func peerContext(
  _ role: TLSContext.Role, key: OpaquePointer?, maximum: Int32 = TLS1_3_VERSION
) -> TLSContext {
  let context = SSL_CTX_new(role == .client ? TLS_client_method() : TLS_server_method())!
  peer_SSL_CTX_set_max_proto_version(context, maximum)
  let certificate = peerCertificate(key)
  SSL_CTX_use_certificate(context, certificate)
  SSL_CTX_use_PrivateKey(context, key)
  X509_free(certificate)
  EVP_PKEY_free(key)
  return TLSContext(role: role, adopting: context, ownFingerprint: nil)
}

/// A certificate for any kind of key, signed by itself.
private func peerCertificate(_ key: OpaquePointer?) -> OpaquePointer {
  let certificate = X509_new()!
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600)
  X509_set_pubkey(certificate, key)
  X509_sign(certificate, key, EVP_sha256())
  return certificate
}
