import COpenSSL

/// How a session ends: by this end's close_notify, by the peer's, without one, or by a failure.
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

  /// Queues a close_notify: this end will write no more. Reading continues until the peer's own
  /// close_notify.
  ///
  /// Does nothing before the handshake has finished, and nothing on a second call.
  package mutating func close() throws(TLSError) {
    guard isEstablished, !isClosing else { return }
    if let failure { throw failure }
    isClosing = true
    OpenSSL.clearErrors()
    // 0 means that the peer's close_notify has not come, which is no error. A second call would be
    // an error while the peer still sends.
    let result = unsafe SSL_shutdown(connection)
    if result < 0 { throw failed(during: "the closing of the session") }
  }

  mutating func failed(during operation: String) -> TLSError {
    let phase: Phase = isEstablished ? (hasRead ? .inUse : .unanswered) : .handshake
    return fail(.ofSession(in: phase, operation: operation))
  }

  /// Ends the session with an error, which every later call throws again.
  mutating func fail(_ error: TLSError) -> TLSError {
    failure = error
    return error
  }
}

extension TLSError {
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
