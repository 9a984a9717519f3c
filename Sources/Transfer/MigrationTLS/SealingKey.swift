import COpenSSL
import MigrationSystem

/// A key that seals small messages by AES-256-GCM: it encrypts each message and authenticates it
/// together with its place.
///
/// Each message gets a nonce drawn at random, so that a key is good for some four thousand million
/// messages (NIST SP 800-38D, 8.3).
package struct SealingKey: ~Copyable, Sendable {
  /// The number of bytes of a key.
  package static let byteCount = 32
  /// The number of bytes that sealing adds: the nonce in front of the message and the tag behind
  /// it.
  package static let overhead = nonceByteCount + tagByteCount

  private static let nonceByteCount = 12
  private static let tagByteCount = 16

  private let bytes: SecretBytes

  /// Takes over a key of 32 bytes.
  package init(_ bytes: consuming SecretBytes) {
    precondition(bytes.count == Self.byteCount, "a sealing key has 32 bytes")
    OpenSSL.begin()
    self.bytes = bytes
  }

  /// Copies a key of 32 bytes.
  package init(copying bytes: Span<UInt8>) { self.init(unsafe SecretBytes(bytes.bytes)) }

  /// Draws a new key.
  package static func drawn() -> SealingKey {
    OpenSSL.begin()
    var bytes = SecretBytes(zeros: byteCount)
    let done = unsafe bytes.withMutablePointer { buffer in
      unsafe RAND_priv_bytes(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(buffer.count)) == 1
    }
    guard done else { fatalError("OpenSSL has no random bytes") }
    return SealingKey(bytes)
  }

  /// Runs `body` with the key, to be stored.
  package func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try bytes.withBytes { (bytes) throws(E) in try body(Span(_bytes: bytes)) }
  }

  /// Seals a message for a place. The message opens only for the same place.
  package func seal(_ message: [UInt8], for place: [UInt8]) throws(TLSError) -> [UInt8] {
    try seal(message, for: place, nonce: randomBytes(Self.nonceByteCount))
  }

  /// Seals a message with a given nonce, for vectors.
  func seal(_ message: [UInt8], for place: [UInt8], nonce: [UInt8]) throws(TLSError) -> [UInt8] {
    precondition(nonce.count == Self.nonceByteCount)
    let operation = "sealing"
    let cipher = try GCM(operation)
    let begun = bytes.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        unsafe EVP_EncryptInit_ex(
          cipher.raw, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce)
      }
    }
    var count: Int32 = 0
    try require(begun, operation)
    try require(unsafe EVP_EncryptUpdate(cipher.raw, nil, &count, place, Int32(place.count)), operation)
    var sealed = [UInt8](repeating: 0, count: message.count)
    try require(unsafe EVP_EncryptUpdate(cipher.raw, &sealed, &count, message, Int32(message.count)), operation)
    guard count == message.count else { throw TLSError(.library, operation: operation) }
    var tag = [UInt8](repeating: 0, count: Self.tagByteCount)
    var none: Int32 = 0
    try require(unsafe EVP_EncryptFinal_ex(cipher.raw, &tag, &none), operation)
    try require(unsafe EVP_CIPHER_CTX_ctrl(cipher.raw, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag), operation)
    return nonce + sealed + tag
  }

  /// Opens a message that was sealed for a place. Returns nil unless the message is intact and was
  /// sealed under this key for this place.
  ///
  /// The caller wipes the result.
  package func open(_ sealed: ArraySlice<UInt8>, for place: [UInt8]) throws(TLSError) -> [UInt8]? {
    guard sealed.count >= Self.overhead else { return nil }
    let operation = "opening a sealed message"
    let cipher = try GCM(operation)
    let nonce = Array(sealed.prefix(Self.nonceByteCount))
    let content = Array(sealed.dropFirst(Self.nonceByteCount).dropLast(Self.tagByteCount))
    var tag = Array(sealed.suffix(Self.tagByteCount))
    let begun = bytes.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        unsafe EVP_DecryptInit_ex(
          cipher.raw, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce)
      }
    }
    var count: Int32 = 0
    try require(begun, operation)
    try require(unsafe EVP_DecryptUpdate(cipher.raw, nil, &count, place, Int32(place.count)), operation)
    var message = [UInt8](repeating: 0, count: content.count)
    try require(unsafe EVP_DecryptUpdate(cipher.raw, &message, &count, content, Int32(content.count)), operation)
    try require(unsafe EVP_CIPHER_CTX_ctrl(cipher.raw, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag), operation)
    var none: Int32 = 0
    var rest: [UInt8] = [0]
    guard unsafe EVP_DecryptFinal_ex(cipher.raw, &rest, &none) > 0 else {
      OpenSSL.clearErrors()
      cleanse(&message)
      return nil
    }
    return message
  }

  /// OpenSSL's state of one encryption, which is wiped at its end.
  @safe private struct GCM: ~Copyable {
    let raw: OpaquePointer

    init(_ operation: String) throws(TLSError) {
      OpenSSL.clearErrors()
      unsafe raw = try unsafe require(EVP_CIPHER_CTX_new(), operation)
    }

    deinit { unsafe EVP_CIPHER_CTX_free(raw) }
  }
}
