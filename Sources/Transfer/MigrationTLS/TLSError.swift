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
