import COpenSSL
import MigrationWire

/// The settings of every context, in both roles.
///
/// OpenSSL's defaults are set as well, because a system's openssl.cnf may have changed them.
extension TLSContext {
  /// The most bytes of certificates that a peer may show. This program's certificate has about 300.
  private static let certificateLimit = 4096

  /// Key exchange groups by preference. OpenSSL before version 3.5 does not know the first group of
  /// the first list.
  private static let groupLists = ["X25519MLKEM768:X25519:P-256", "X25519:P-256"]

  /// The one signature algorithm, for both sides.
  private static let signatureAlgorithms = "ecdsa_secp256r1_sha256"

  /// Cipher suites by preference: AES first where the processor has it in hardware.
  private static let cipherSuites =
    OpenSSL.hasFastAES
    ? "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
    : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"

  /// Applies every setting to a context that is being set up.
  private static func applySettings(to context: OpaquePointer, _ operation: String) throws(TLSError) {
    try unsafe require(peer_SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION), operation)
    try unsafe require(peer_SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION), operation)
    try unsafe require(SSL_CTX_set_ciphersuites(context, cipherSuites), operation)
    try unsafe require(peer_SSL_CTX_set1_sigalgs_list(context, signatureAlgorithms), operation)
    try unsafe require(peer_SSL_CTX_set1_client_sigalgs_list(context, signatureAlgorithms), operation)
    try unsafe chooseGroups(context, operation)
    unsafe chooseOptions(context)
    try unsafe refuseResumption(context, operation)
    unsafe askForCertificate(context)
    // The session's own input buffer reads ahead. If OpenSSL did so as well, it would move its
    // whole buffer to the front for every record: at 256 KiB that more than halves the speed.
    unsafe peer_SSL_CTX_set_read_ahead(context, 0)
  }

  private static func chooseGroups(_ context: OpaquePointer, _ operation: String) throws(TLSError) {
    for list in groupLists where unsafe peer_SSL_CTX_set1_groups_list(context, list) == 1 {
      // An error that a refused longer list left in the queue does not count.
      OpenSSL.clearErrors()
      return
    }
    throw .fromQueue(.library, operation: operation)
  }

  private static func chooseOptions(_ context: OpaquePointer) {
    unsafe SSL_CTX_set_options(
      context,
      peer_SSL_OP_NO_TICKET | peer_SSL_OP_NO_COMPRESSION | peer_SSL_OP_NO_RENEGOTIATION
        | peer_SSL_OP_CIPHER_SERVER_PREFERENCE | peer_SSL_OP_PRIORITIZE_CHACHA)
    unsafe SSL_CTX_clear_options(
      context, peer_SSL_OP_IGNORE_UNEXPECTED_EOF | peer_SSL_OP_ENABLE_KTLS | peer_SSL_OP_ALLOW_NO_DHE_KEX)
    unsafe peer_SSL_CTX_set_mode(
      context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
  }

  private static func refuseResumption(_ context: OpaquePointer, _ operation: String) throws(TLSError) {
    // The option against tickets does not cover the stateful tickets of TLS 1.3, so their number is
    // set to 0 as well.
    try unsafe require(SSL_CTX_set_num_tickets(context, 0), operation)
    try unsafe require(SSL_CTX_set_max_early_data(context, 0), operation)
    try unsafe require(SSL_CTX_set_recv_max_early_data(context, 0), operation)
    unsafe peer_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
  }

  private static func askForCertificate(_ context: OpaquePointer) {
    unsafe peer_SSL_CTX_set_max_cert_list(context, certificateLimit)
    unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    unsafe SSL_CTX_set_cert_verify_callback(context, checkPin, nil)
  }
}

/// Whether the peer shows one certificate, with a P-256 key, and the pinned one where there is such a
/// key. The rest of the certificate is not looked at.
///
/// A client is asked before it shows its own certificate.
private func checkPin(_ store: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
  if unsafe peer_sk_X509_num(X509_STORE_CTX_get0_untrusted(store)) == 1,
    let certificate = unsafe X509_STORE_CTX_get0_cert(store),
    let transport = unsafe TLSSession.Transport.judged(in: store),
    let key = try? unsafe KeyFingerprint(ofCertificate: certificate)
  {
    if unsafe transport.pointee.pinned.map({ $0 == key }) ?? true { return 1 }
    unsafe transport.pointee.stranger = key
  }
  unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED)
  return 0
}

/// The settings that all TLS sessions of one role and one identity share.
///
/// TLS 1.3 only, certificates on both sides, no resumption and no early data. The certificates
/// carry keys and prove nothing: the session's pin decides, or the caller by `peerFingerprint`.
///
/// `@unchecked`: the pointer is set once, and nothing changes the settings after that.
@safe package final class TLSContext: @unchecked Sendable {
  // Unchecked because of the C pointer: OpenSSL counts the references of an SSL_CTX atomically and
  // locks its shared state. Nothing here changes it once `init` has returned.
  private let context: OpaquePointer

  /// Which side of TLS a session takes.
  package enum Role: Sendable {
    /// The side that connects.
    case client
    /// The side that accepts.
    case server
  }

  /// Which side the sessions take.
  package let role: Role
  /// The fingerprint of our own key; nil only where a test shows no certificate.
  let ownFingerprint: KeyFingerprint?

  /// Sets up a context that shows `identity`.
  package convenience init(role: Role, identity: Identity) throws(TLSError) {
    try self.init(role: role, showing: identity)
  }

  /// Sets up a context; tests also make one that shows no certificate.
  convenience init(role: Role, showing identity: Identity?) throws(TLSError) {
    OpenSSL.clearErrors()
    let operation = "the set-up of TLS"
    let method = unsafe role == .client ? TLS_client_method() : TLS_server_method()
    let context = try unsafe require(SSL_CTX_new(method), operation)
    unsafe self.init(role: role, adopting: context, ownFingerprint: identity?.fingerprint)
    try unsafe Self.applySettings(to: context, operation)
    try unsafe identity?.install(in: context)
  }

  /// Takes over an SSL_CTX without changes. Tests use it to play peers with other rules.
  init(role: Role, adopting context: OpaquePointer, ownFingerprint: KeyFingerprint?) {
    self.role = role
    unsafe self.context = unsafe context
    self.ownFingerprint = ownFingerprint
  }

  deinit {
    unsafe SSL_CTX_free(context)
  }

  /// Makes the C object of one session.
  func makeConnection() throws(TLSError) -> OpaquePointer {
    OpenSSL.clearErrors()
    let connection = try unsafe require(SSL_new(context), "the set-up of TLS")
    switch role {
    case .client: unsafe SSL_set_connect_state(connection)
    case .server: unsafe SSL_set_accept_state(connection)
    }
    return unsafe connection
  }

  /// Runs `body` with the C object. This object keeps the ownership.
  func withPointer<R, E: Error>(_ body: (OpaquePointer) throws(E) -> R) throws(E) -> R {
    try unsafe body(context)
  }
}
