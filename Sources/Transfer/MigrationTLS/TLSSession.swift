import COpenSSL
import MigrationSystem
package import MigrationWire

/// One TLS session over memory: ciphertext goes in and out through two bounded buffers, and no
/// socket is touched.
///
/// One thread owns a session at a time. Before it waits for ciphertext it reads until
/// `.needsInput`: plaintext may lie in the library. Any call may leave output pending. The first
/// error ends the session, and every later call that could fail throws that error again; the alert
/// for the peer, if there is one, is pending output.
@safe package struct TLSSession: ~Copyable, @unchecked Sendable {
  // Unchecked because of the two pointers: this is the only owner of both objects, and every method
  // that changes them is `mutating`.
  let connection: OpaquePointer
  private let transport: UnsafeMutablePointer<Transport>

  private let ownFingerprint: KeyFingerprint?
  private let outputMark: Int
  private let recordsPerKey: Int
  private var recordsUnderKey = 0
  private(set) var isEstablished = false
  var isClosing = false
  private(set) var hasRead = false
  var failure: TLSError?

  /// The fingerprint of the peer's key, once the handshake has finished.
  package private(set) var peerFingerprint: KeyFingerprint?

  /// The key of a peer that was refused because another key is pinned.
  package var stranger: KeyFingerprint? { unsafe transport.pointee.stranger }

  /// How often our sending key has been renewed.
  package private(set) var keyUpdates = 0

  /// The default size of a buffer: a frame of the usual size fits, and goes out in one call.
  package static let defaultBufferSize = 288 << 10

  /// The default number of records under one key: 64 GiB. AES-GCM allows about 362 GiB.
  package static let defaultRecordsPerKey = 1 << 22

  /// Room above the mark, for the record that crosses it and for TLS's own answers.
  private static let outputReserve = 64 << 10

  /// Makes a session that has not shaken hands.
  ///
  /// A peer that shows another key than the pinned one is refused, and a client shows it no key.
  /// `bufferSize` bounds the input. It is also the mark from which on `write` takes no more
  /// plaintext.
  package init(
    _ context: TLSContext, pinned: KeyFingerprint? = nil, bufferSize: Int = defaultBufferSize,
    recordsPerKey: Int = defaultRecordsPerKey
  ) throws(TLSError) {
    precondition(bufferSize > 0 && recordsPerKey > 0)
    let connection = try unsafe context.makeConnection()
    let transport = UnsafeMutablePointer<Transport>.allocate(capacity: 1)
    unsafe transport.initialize(
      to: Transport(inputLimit: bufferSize, outputLimit: bufferSize + Self.outputReserve, pinned: pinned))
    do {
      let bio = try unsafe Transport.makeBIO(on: transport)
      unsafe SSL_set_bio(connection, bio, bio)
      unsafe Transport.watch(connection, on: transport)
    } catch {
      unsafe SSL_free(connection)
      unsafe transport.deinitialize(count: 1)
      unsafe transport.deallocate()
      throw error
    }
    unsafe self.init(connection, transport, of: context, outputMark: bufferSize, recordsPerKey: recordsPerKey)
  }

  /// Nothing throws here: Swift 6.2 would destroy twice what a value has that it cannot complete.
  private init(
    _ connection: OpaquePointer, _ transport: UnsafeMutablePointer<Transport>, of context: TLSContext, outputMark: Int,
    recordsPerKey: Int
  ) {
    unsafe self.connection = unsafe connection
    unsafe self.transport = unsafe transport
    ownFingerprint = context.ownFingerprint
    self.outputMark = outputMark
    self.recordsPerKey = recordsPerKey
  }

  deinit {
    // The connection first: it frees the BIO, which points to the transport.
    unsafe SSL_free(connection)
    unsafe transport.deinitialize(count: 1)
    unsafe transport.deallocate()
  }
}

// MARK: - Ciphertext

extension TLSSession {
  /// The number of bytes of ciphertext that `receive` can take now.
  package var inputSpace: Int { unsafe transport.pointee.input.space }

  /// The number of bytes of ciphertext that wait to be sent.
  package var pendingOutput: Int { unsafe transport.pointee.output.count }

  /// Lets `body` write at most so many bytes of received ciphertext into the input buffer, as recv(2)
  /// does. `body` returns the number of bytes. `inputSpace` must not be 0: read first.
  @discardableResult
  package mutating func receive<E: Error>(
    atMost limit: Int, _ body: (inout MutableSpan<UInt8>) throws(E) -> Int
  ) throws(E) -> Int {
    precondition(inputSpace > 0, "the input is full: read before more is received")
    return try unsafe transport.pointee.input.fill { (buffer) throws(E) in
      var memory = unsafe MutableSpan<UInt8>(
        _unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(limit)))
      return try body(&memory)
    }
  }

  /// Lets `body` take pending ciphertext, as send(2) does. `body` returns the number of bytes that
  /// it took.
  @discardableResult
  package mutating func send<E: Error>(_ body: (Span<UInt8>) throws(E) -> Int) throws(E) -> Int {
    try unsafe transport.pointee.output.drain { (bytes) throws(E) in try body(unsafe Span(_unsafeBytes: bytes)) }
  }

  /// The records and key updates without plaintext that the peer has sent since the handshake.
  package var silent: SilentTally { unsafe transport.pointee.tally }

  /// Records that no ciphertext follows the received bytes: the transport's FIN.
  ///
  /// Reading then ends in `.truncated`, unless the peer's close_notify comes first.
  package mutating func transportEnded() {
    unsafe transport.pointee.inputEnded = true
  }
}

// MARK: - Handshake and end

extension TLSSession {
  /// Continues the handshake as far as the received ciphertext allows.
  ///
  /// A client's handshake finishes before the server has judged its certificate. Only later data
  /// from the server proves that the server accepted it.
  package mutating func handshake() throws(TLSError) -> HandshakeStep {
    if let failure { throw failure }
    if isEstablished { return .finished }
    let operation = "the TLS handshake"
    switch try unsafe run(operation, { unsafe SSL_do_handshake($0) }) {
    case .done:
      try admitPeer(operation)
      return .finished
    case .needsInput:
      return .needsInput
    case .closed:
      throw fail(TLSError(.handshakeRefused, operation: operation, detail: "closed by the other side"))
    }
  }

  private mutating func admitPeer(_ operation: String) throws(TLSError) {
    guard let certificate = unsafe SSL_get0_peer_certificate(connection) else {
      throw fail(TLSError(.certificateUnacceptable, operation: operation, detail: "no certificate"))
    }
    let fingerprint: KeyFingerprint
    do {
      fingerprint = try unsafe KeyFingerprint(ofCertificate: certificate)
    } catch {
      throw fail(error)
    }
    guard fingerprint != ownFingerprint else { throw fail(TLSError(.reflected, operation: operation)) }
    peerFingerprint = fingerprint
    isEstablished = true
    unsafe transport.pointee.tally = SilentTally()
  }
}

// MARK: - Plaintext

extension TLSSession {
  /// Reads as much plaintext as there is and as fits into a part of an array, across records.
  package mutating func read(into target: inout [UInt8], _ range: Range<Int>) throws(TLSError) -> ReadStep {
    try target.withPart(range) { (part) throws(TLSError) in
      try unsafe part.withUnsafeMutableBytes { (buffer) throws(TLSError) in try unsafe read(into: buffer) }
    }
  }

  private mutating func read(into target: UnsafeMutableRawBufferPointer) throws(TLSError) -> ReadStep {
    precondition(isEstablished || failure != nil, "reading begins after the handshake")
    precondition(target.count > 0, "reading needs room")
    var total = 0
    while total < target.count {
      var count = 0
      let outcome: Outcome
      do {
        outcome = try unsafe run("reading") {
          unsafe SSL_read_ex($0, target.baseAddress! + total, target.count - total, &count)
        }
      } catch {
        if total == 0 { throw error }
        // The plaintext from before the fault is authentic. The next call throws.
        return .bytes(total)
      }
      switch outcome {
      case .done:
        total += count
        hasRead = true
      case .needsInput: return total > 0 ? .bytes(total) : .needsInput
      case .closed: return total > 0 ? .bytes(total) : .closed
      }
    }
    return .bytes(total)
  }

  /// Encrypts as much of `source` as fits below the mark of the output. The caller offers the rest
  /// again.
  package mutating func write(_ source: Span<UInt8>) throws(TLSError) -> WriteStep {
    try unsafe source.withUnsafeBytes { (bytes) throws(TLSError) in try unsafe write(bytes) }
  }

  private mutating func write(_ source: UnsafeRawBufferPointer) throws(TLSError) -> WriteStep {
    precondition(isEstablished || failure != nil, "writing begins after the handshake")
    precondition(!isClosing, "nothing is written after the close")
    var total = 0
    while total < source.count {
      guard pendingOutput < outputMark else { return total > 0 ? .bytes(total) : .full }
      try renewKeyIfDue()
      var count = 0
      // One record at most: the context writes partially.
      let outcome = try unsafe run("writing") {
        unsafe SSL_write_ex($0, source.baseAddress! + total, source.count - total, &count)
      }
      guard outcome == .done else { return total > 0 ? .bytes(total) : .needsInput }
      total += count
      recordsUnderKey += 1
    }
    return .bytes(total)
  }

  /// OpenSSL never renews a key by itself. No write is pending here, because a record is always
  /// written as a whole.
  ///
  /// This end does not ask the peer to renew its key in return: in full duplex such a request ends
  /// the session.
  private mutating func renewKeyIfDue() throws(TLSError) {
    guard recordsUnderKey >= recordsPerKey else { return }
    _ = try unsafe run("the renewal of a key") { unsafe SSL_key_update($0, SSL_KEY_UPDATE_NOT_REQUESTED) }
    recordsUnderKey = 0
    keyUpdates += 1
  }
}

// MARK: - Agreed values

extension TLSSession {
  /// 32 bytes that both ends of this session share and that no other session has (RFC 9266).
  package func channelBinding() throws(TLSError) -> [UInt8] { try exported("EXPORTER-Channel-Binding") }

  /// 32 other such bytes, which name the pairing to relays (Protocol §16.3).
  package func meetingSecret() throws(TLSError) -> [UInt8] { try exported(RelayMeeting.exporter) }

  private func exported(_ label: String) throws(TLSError) -> [UInt8] {
    precondition(isEstablished, "a channel binding exists after the handshake")
    OpenSSL.clearErrors()
    var bytes = [UInt8](repeating: 0, count: 32)
    let done = unsafe SSL_export_keying_material(connection, &bytes, bytes.count, label, label.utf8.count, nil, 0, 1)
    try require(done, "the export of the channel binding")
    return bytes
  }

  /// The cipher suite in use, by its name in TLS; empty before one is agreed on.
  package var negotiatedCipher: String {
    guard let cipher = unsafe SSL_get_current_cipher(connection) else { return "" }
    return unsafe String(cString: SSL_CIPHER_standard_name(cipher))
  }
}

// MARK: - Calls into OpenSSL

extension TLSSession {
  private enum Outcome {
    case done
    case needsInput
    case closed
  }

  /// Makes one call, and reads its outcome before another call can touch this thread's error queue.
  private mutating func run(
    _ operation: String, _ body: (OpaquePointer) -> Int32
  ) throws(TLSError) -> Outcome {
    if let failure { throw failure }
    OpenSSL.clearErrors()
    let result = unsafe body(connection)
    if result > 0 { return .done }
    switch unsafe SSL_get_error(connection, result) {
    case SSL_ERROR_WANT_READ: return .needsInput
    case SSL_ERROR_ZERO_RETURN: return .closed
    case SSL_ERROR_WANT_WRITE:
      // The session's own records always fit. An answer that does not fit is therefore one of TLS's
      // own, and one too many.
      throw fail(TLSError(.protocolViolation, operation: operation, detail: "the peer takes too few answers"))
    default: throw failed(during: operation)
    }
  }

  /// Runs `body` with the C object, and keeps the ownership. Tests use it to misbehave as no
  /// session of this type does.
  mutating func withPointer(_ body: (OpaquePointer) -> Void) {
    unsafe body(connection)
  }
}

// MARK: - Steps

extension TLSSession {
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
