import COpenSSL

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
