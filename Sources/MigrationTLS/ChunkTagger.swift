import COpenSSL
import MigrationSystem
package import MigrationWire

/// Makes and checks the tags of chunks under one key, with AES-128-GCM over associated data alone
/// (GMAC).
///
/// Neither call copies or allocates, for a chunk of any length.
@safe package struct ChunkTagger: ~Copyable, @unchecked Sendable {
  // Unchecked because of the C pointer: this is the object's only owner, and every method that uses
  // it is `mutating`.
  private let cipher: OpaquePointer
  private var nonce: ChunkNonce

  /// The number of bytes of a key.
  package static let keyByteCount = 16

  /// Makes a tagger with a key of 16 bytes.
  ///
  /// Many taggers may share a key, one after the other or at once: each draws 8 bytes of its nonces
  /// at random.
  package init(key: [UInt8]) throws(TLSError) {
    try self.init(key: key, firstNonce: .drawn())
  }

  /// Makes a tagger with a key whose bytes are those of a number, big-endian.
  package init(key: UInt128) throws(TLSError) {
    var bytes = unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
    defer { cleanse(&bytes) }
    try self.init(key: bytes)
  }

  /// Makes a tagger that begins with a given nonce, for vectors.
  init(key: [UInt8], firstNonce: ChunkNonce) throws(TLSError) {
    precondition(key.count == Self.keyByteCount, "a chunk key has 16 bytes")
    OpenSSL.clearErrors()
    let operation = "the set-up of chunk tags"
    let cipher = try unsafe require(EVP_CIPHER_CTX_new(), operation)
    guard unsafe EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), nil, key, nil) == 1 else {
      unsafe EVP_CIPHER_CTX_free(cipher)
      throw .fromQueue(.library, operation: operation)
    }
    unsafe self.cipher = unsafe cipher
    nonce = firstNonce
  }

  deinit {
    // This wipes the key schedule as well.
    unsafe EVP_CIPHER_CTX_free(cipher)
  }

  /// Tags the concatenation of `header` and `data`. The header's length must be fixed, or the
  /// header itself must state it.
  package mutating func tag(header: Span<UInt8>, data: Span<UInt8>) -> ChunkSeal {
    tag(nonce: nonce.next(), header, data)
  }

  /// Whether `seal` was made under this key for exactly this header and data.
  package mutating func verify(_ seal: ChunkSeal, header: Span<UInt8>, data: Span<UInt8>) -> Bool {
    let expected = expected(seal, header: header, data: data).tag
    return unsafe withUnsafeBytes(of: expected) { expected in
      unsafe withUnsafeBytes(of: seal.tag) { found in
        unsafe CRYPTO_memcmp(expected.baseAddress, found.baseAddress, found.count) == 0
      }
    }
  }

  /// The seal that this header and data have with the nonce of another one.
  package mutating func expected(_ seal: ChunkSeal, header: Span<UInt8>, data: Span<UInt8>) -> ChunkSeal {
    tag(nonce: ChunkNonce(seal), header, data)
  }

  private mutating func tag(nonce: ChunkNonce, _ header: Span<UInt8>, _ data: Span<UInt8>) -> ChunkSeal {
    var initial = (nonce.prefix.bigEndian, nonce.counter.bigEndian)
    let begun = unsafe withUnsafeBytes(of: &initial) { bytes in
      unsafe EVP_EncryptInit_ex(cipher, nil, nil, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
    var code = (high: UInt64(0), low: UInt64(0))
    var none: Int32 = 0
    let done = unsafe withUnsafeMutableBytes(of: &code) { out in
      let out = unsafe out.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe begun == 1 && authenticate(header) && authenticate(data)
        && EVP_EncryptFinal_ex(cipher, out, &none) == 1
        && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, out) == 1
    }
    // With a key in place no call here can fail. Only a correct tag may leave this function.
    guard done else { fatalError("OpenSSL made no tag") }
    return ChunkSeal(
      nonceHigh: nonce.prefix, nonceLow: nonce.counter,
      tag: UInt128(UInt64(bigEndian: code.high)) << 64 | UInt128(UInt64(bigEndian: code.low)))
  }

  private func authenticate(_ part: Span<UInt8>) -> Bool {
    precondition(part.count <= Int32.max, "a chunk is shorter than 2 GiB")
    guard !part.isEmpty else { return true }
    return unsafe part.withUnsafeBytes { bytes in
      var count: Int32 = 0
      return unsafe EVP_EncryptUpdate(
        cipher, nil, &count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count)) == 1
    }
  }
}
