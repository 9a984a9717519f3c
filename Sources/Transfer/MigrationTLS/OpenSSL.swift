import COpenSSL

/// OpenSSL as a whole.
package enum OpenSSL {
  /// The version of the library that runs, such as "3.5.1".
  package static var version: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }

  /// Whether the processor has the instructions for AES, which is then the first choice.
  package static var hasFastAES: Bool { peer_cpu_has_aes_gcm() != 0 }

  /// Chooses OpenSSL's memory, and has it keep its tables when the process calls `exit`: threads of a
  /// transfer may still use them then, and the process would crash or hang.
  ///
  /// OpenSSL accepts this only before its first use in a process, so each function that may be the
  /// first use calls it.
  static func begin() { _ = keepsTables }

  /// Empties this thread's error queue, so that it later has the reasons of the next calls only.
  /// This may be the first use of OpenSSL, too.
  static func clearErrors() {
    begin()
    // Emptying an empty queue takes six times as long as looking into it.
    if ERR_peek_error() != 0 { ERR_clear_error() }
  }

  private static let keepsTables: Bool = {
    // A fifth of the time of a code's derivation goes into the memory for it, page by page.
    peer_use_large_pages()
    return OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
  }()
}

/// The number of bytes that SHA-256 gives.
let digestByteCount = Int(SHA256_DIGEST_LENGTH)

/// Digests a message with SHA-256.
func sha256(_ message: RawSpan) -> [UInt8] {
  unsafe [UInt8](unsafeUninitializedCapacity: digestByteCount) { buffer, initialized in
    unsafe sha256(message, into: UnsafeMutableRawBufferPointer(buffer))
    initialized = digestByteCount
  }
}

/// Digests a message with SHA-256 into memory of 32 bytes.
func sha256(_ message: RawSpan, into digest: UnsafeMutableRawBufferPointer) {
  precondition(digest.count == digestByteCount)
  OpenSSL.begin()
  let done = unsafe message.withUnsafeBytes { bytes in
    unsafe SHA256(bytes.baseAddress, bytes.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self))
  }
  // Only a lack of memory, or a library built without SHA-256, leads here. Without a digest the
  // process cannot continue safely.
  guard unsafe done != nil else { fatalError("OpenSSL has no SHA-256") }
}

/// Authenticates a message with HMAC-SHA256.
func hmac(key: RawSpan, message: RawSpan) -> SecretBytes {
  OpenSSL.begin()
  // OpenSSL 3.6 refuses a key of no bytes, which is the same key as a zero.
  let zero: [UInt8] = [0]
  if key.isEmpty { return unsafe hmac(key: zero.span.bytes, message: message) }
  var code = SecretBytes(zeros: digestByteCount)
  let done = unsafe code.withMutablePointer { out in
    unsafe key.withUnsafeBytes { key in
      unsafe message.withUnsafeBytes { message in
        unsafe HMAC(
          EVP_sha256(), key.baseAddress, Int32(key.count), message.baseAddress, message.count,
          out.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) != nil
      }
    }
  }
  guard done else { fatalError("OpenSSL has no HMAC-SHA256") }
  return code
}

/// Derives 32 bytes with HKDF-SHA256 (RFC 5869) without a salt.
///
/// 32 bytes are one block of the expansion, so that HKDF is two HMACs: one extracts, one expands.
func hkdf(_ secret: RawSpan, info: [UInt8]) -> SecretBytes {
  let noSalt = [UInt8](repeating: 0, count: digestByteCount)
  let extracted = unsafe hmac(key: noSalt.span.bytes, message: secret)
  let block = info + [1]
  return extracted.withBytes { unsafe hmac(key: $0, message: block.span.bytes) }
}

/// Draws unpredictable bytes.
package func randomBytes(_ count: Int) -> [UInt8] {
  OpenSSL.begin()
  return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    // Without randomness there are no keys; no caller could do better than to stop.
    guard unsafe RAND_bytes(buffer.baseAddress, Int32(count)) == 1 else { fatalError("OpenSSL has no random bytes") }
    initialized = count
  }
}

/// Draws a number from 0 to 9,999,999, each with the same probability: the random digits of a
/// pairing code.
package func randomSevenDigitNumber() -> Int {
  uniform(below: 10_000_000) {
    randomBytes(4).reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// Turns words from `source` into a number below `bound` without favouring any.
///
/// Words above the last whole multiple of `bound` are drawn again, because a plain remainder would
/// favour small numbers.
func uniform(below bound: UInt32, source: () -> UInt32) -> Int {
  let limit = UInt32.max - UInt32.max % bound
  while true {
    let word = source()
    if word < limit { return Int(word % bound) }
  }
}
