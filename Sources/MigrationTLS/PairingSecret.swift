import COpenSSL
package import MigrationWire

/// The secret number of SPAKE2 that a pairing code stands for: w, 32 bytes, big-endian, from 1 to
/// the order of the curve less one. It is wiped when its last user is gone.
package final class PairingSecret: Sendable {
  let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) {
    precondition(bytes.count == P256.Scalar.byteCount, "a secret has 32 bytes")
    self.bytes = bytes
  }

  private static let salt = Array("peer-pair-v1 scrypt".utf8)
  private static let cost: UInt64 = 1 << 14
  private static let blockSize: UInt64 = 8
  private static let memoryLimit: UInt64 = 32 << 20
  private static let stretchedByteCount = 48

  /// Stretches eight ASCII digits into w. The caller cleanses the digits.
  ///
  /// This takes tens of milliseconds and 16 MiB by design: call it once a code, never once a
  /// connection.
  package static func scalar(fromDigits digits: [UInt8]) throws(TLSError) -> PairingSecret {
    precondition(digits.count == 8 && digits.allSatisfy { (0x30...0x39).contains($0) }, "a code has eight digits")
    OpenSSL.clearErrors()
    let stretched = try stretch(digits)
    let curve = try P256()
    return try stretched.withBytes { bytes throws(TLSError) in
      PairingSecret(try curve.scalar(reducing: bytes).encoded())
    }
  }

  /// scrypt over the digits, 48 bytes: 128 bits more than the modulus, so that the remainder is
  /// almost uniform.
  static func stretch(_ digits: [UInt8]) throws(TLSError) -> SecretBytes {
    OpenSSL.begin()
    var stretched = SecretBytes(zeros: stretchedByteCount)
    let done = unsafe stretched.withMutablePointer { out in
      unsafe digits.withUnsafeBytes { digits in
        unsafe EVP_PBE_scrypt(
          digits.baseAddress?.assumingMemoryBound(to: CChar.self), digits.count, salt, salt.count,
          cost, blockSize, 1, memoryLimit, out.baseAddress?.assumingMemoryBound(to: UInt8.self), out.count)
      }
    }
    try require(done, "the stretching of the code")
    return stretched
  }
}

/// The values that tie a pairing to its TLS session: the identities and the associated data of
/// SPAKE2.
///
/// A man in the middle has two TLS sessions with different channel bindings. The identities
/// therefore differ, and both confirmations fail even if the attacker forwards every byte.
package enum PairingBinding {
  private static let label = "peer-pair-v1"

  /// The identity of A, the TLS client, from its key and the channel binding.
  package static func identityA(client: KeyFingerprint, channelBinding: [UInt8]) -> [UInt8] {
    Array("\(label) client".utf8) + [0] + client.bytes + channelBinding
  }

  /// The identity of B, the TLS server, from its key and the channel binding.
  package static func identityB(server: KeyFingerprint, channelBinding: [UInt8]) -> [UInt8] {
    Array("\(label) server".utf8) + [0] + server.bytes + channelBinding
  }

  /// The associated data, from both HELLO frames as they were on the wire, type and length
  /// included.
  package static func associatedData(clientHello: [UInt8], serverHello: [UInt8]) -> [UInt8] {
    let hellos = clientHello + serverHello
    let digest = unsafe sha256(hellos.span.bytes)
    return Array(label.utf8) + [0] + digest
  }
}

/// Bytes that are wiped when their last user is gone.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
  // Unchecked because of the pointer: the memory has this one owner, and only `mutating` functions
  // write to it.
  private let storage: UnsafeMutableRawBufferPointer

  /// Makes `count` zero bytes.
  init(zeros count: Int) {
    unsafe storage = .allocate(byteCount: count, alignment: 1)
    unsafe storage.initializeMemory(as: UInt8.self, repeating: 0)
  }

  /// Copies bytes into memory that will be wiped.
  init(_ bytes: RawSpan) {
    unsafe storage = .allocate(byteCount: bytes.byteCount, alignment: 1)
    unsafe bytes.withUnsafeBytes { unsafe storage.copyMemory(from: $0) }
  }

  deinit {
    unsafe OPENSSL_cleanse(storage.baseAddress, storage.count)
    unsafe storage.deallocate()
  }

  /// The number of bytes.
  package var count: Int {
    unsafe storage.count
  }

  /// Runs `body` with the bytes.
  package func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try body(unsafe storage.bytes)
  }

  /// Runs `body` with the memory, to be written by C.
  mutating func withMutablePointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(storage)
  }

  /// Copies some of the bytes.
  func part(_ range: Range<Int>) -> SecretBytes {
    SecretBytes(unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage)[range]).bytes)
  }

  /// Copies the bytes into an array, which is not wiped automatically.
  package func copied() -> [UInt8] {
    unsafe Array(storage)
  }
}

/// Compares two byte strings in a time that tells nothing about where they differ; lengths are not
/// secret.
package func constantTimeEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  unsafe first.count == second.count && CRYPTO_memcmp(first, second, first.count) == 0
}
