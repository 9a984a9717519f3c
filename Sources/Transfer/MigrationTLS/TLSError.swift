import COpenSSL

/// An error of this module: its kind, the operation, and OpenSSL's reason where OpenSSL gave one.
package struct TLSError: Error, Sendable, Equatable {
  /// The kind of an error, in words: a clause that fits after "failed: ".
  package enum Code: String, Sendable {
    /// One end refused the session before any data came: no common version, cipher or key exchange,
    /// or an alert.
    case handshakeRefused = "the handshake was refused"
    /// The peer, or an attacker on the network, sent bytes that the protocol does not allow.
    case protocolViolation = "the other side broke the protocol"
    /// The peer ended an established session with an alert.
    case alertReceived = "the other side ended the session with an alert"
    /// The transport ended without a close_notify, so something may be missing.
    case truncated = "the connection ended early"
    /// The peer shows no certificate, or one that is not a single P-256 certificate.
    case certificateUnacceptable = "the certificate is not acceptable"
    /// The peer shows our own key.
    case reflected = "the other side shows our own key"
    /// A SPAKE2 share is not a valid point.
    case invalidShare = "the pairing share is invalid"
    /// The bytes of a stored identity are not valid.
    case invalidIdentity = "the stored identity is damaged"
    /// OpenSSL failed, for lack of memory or of an algorithm.
    case library = "the cryptographic library failed"
  }

  /// The kind of the error.
  package let code: Code
  /// The operation, as a noun.
  package let operation: String
  /// The reason, in OpenSSL's words where the error came from there, or empty.
  package let detail: String

  /// Makes an error from its parts.
  package init(_ code: Code, operation: String, detail: String = "") {
    self.code = code
    self.operation = operation
    self.detail = detail
  }

  /// Takes the reason from this thread's OpenSSL error queue, and empties the queue.
  static func fromQueue(_ code: Code, operation: String) -> TLSError {
    let first = ERR_peek_error()
    OpenSSL.clearErrors()
    guard first != 0, let reason = unsafe ERR_reason_error_string(first) else {
      return TLSError(code, operation: operation)
    }
    return unsafe TLSError(code, operation: operation, detail: String(cString: reason))
  }

  /// Tells by this thread's OpenSSL error queue why a session failed, and empties the queue.
  static func ofSession(in phase: TLSSession.Phase, operation: String) -> TLSError {
    fromQueue(sessionCode(first: ERR_peek_error(), phase), operation: operation)
  }

  private static func sessionCode(first error: UInt, _ phase: TLSSession.Phase) -> Code {
    guard error != 0 else { return .library }
    guard ERR_GET_LIB(error) == ERR_LIB_SSL else { return .protocolViolation }
    let reason = ERR_GET_REASON(error)
    if reason == SSL_R_UNEXPECTED_EOF_WHILE_READING { return .truncated }
    // An alert's number is its reason less this offset; the numbers that OpenSSL gives its own
    // reasons are lower.
    if reason > SSL_AD_REASON_OFFSET { return phase == .inUse ? .alertReceived : .handshakeRefused }
    if certificateReasons.contains(reason) { return .certificateUnacceptable }
    if phase == .handshake, refusalReasons.contains(reason) { return .handshakeRefused }
    return .protocolViolation
  }

  /// The peer's certificate is missing or is not the kind that we take.
  private static let certificateReasons: Set<Int32> = [
    SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, SSL_R_WRONG_CERTIFICATE_TYPE,
    SSL_R_UNKNOWN_CERTIFICATE_TYPE, SSL_R_WRONG_SIGNATURE_TYPE,
  ]

  /// The two ends support no common algorithm.
  private static let refusalReasons: Set<Int32> = [
    SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION, SSL_R_WRONG_VERSION_NUMBER, SSL_R_VERSION_TOO_LOW,
    SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS,
    SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_HTTP_REQUEST,
  ]
}

extension TLSError: CustomStringConvertible {
  /// A lower-case clause that names the operation, the kind and the reason.
  package var description: String {
    detail.isEmpty ? "\(operation) failed: \(code.rawValue)" : "\(operation) failed: \(code.rawValue) (\(detail))"
  }
}

/// Passes a pointer that OpenSSL returned on, or throws what its error queue says.
func require(
  _ pointer: OpaquePointer?, _ operation: String, code: TLSError.Code = .library
) throws(TLSError) -> OpaquePointer {
  guard let pointer = unsafe pointer else { throw .fromQueue(code, operation: operation) }
  return unsafe pointer
}

/// Throws what OpenSSL's error queue says unless `result` is positive.
func require(_ result: Int32, _ operation: String, code: TLSError.Code = .library) throws(TLSError) {
  guard result > 0 else { throw .fromQueue(code, operation: operation) }
}

extension TLSSession {
  /// The progress of a session at the moment of its failure: the same reason means different things
  /// at different times.
  enum Phase {
    /// The handshake has not finished.
    case handshake
    /// The handshake has finished, but no data from the peer proves that the peer sees it so too.
    case unanswered
    /// Data has arrived.
    case inUse
  }

  /// The progress of a handshake.
  package enum HandshakeStep: Sendable, Equatable {
    /// The session is established; output may still be pending.
    case finished
    /// The handshake needs more ciphertext. Output may be pending, and the peer may wait for it.
    case needsInput
  }

  /// The result of a read.
  package enum ReadStep: Sendable, Equatable {
    /// This many bytes of plaintext, at least one; there may be more.
    case bytes(Int)
    /// All plaintext that has arrived is read.
    case needsInput
    /// The peer has sent its close_notify and will send nothing more.
    case closed
  }

  /// The result of a write.
  package enum WriteStep: Sendable, Equatable {
    /// This many bytes of plaintext were taken, from the front; output is pending.
    case bytes(Int)
    /// None were taken: pending output has to be sent first.
    case full
    /// None were taken: ciphertext has to come first.
    case needsInput
  }
}
