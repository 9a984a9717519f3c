import COpenSSL
import MigrationWire

/// The settings that all TLS sessions of one role and one identity share.
///
/// TLS 1.3 only, certificates on both sides, no resumption and no early data. The certificates
/// carry keys and prove nothing: the caller decides by the session's `peerFingerprint`.
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
    try unsafe TLSSettings.apply(to: context, operation)
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
