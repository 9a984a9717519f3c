import COpenSSL

/// The secret number of SPAKE2 that a pairing code stands for: w, 32 bytes, big-endian, from 1 to
/// the order of the curve less one. It is wiped when its last user is gone.
package final class PairingSecret: Sendable {
  let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) {
    precondition(bytes.count == P256.Scalar.byteCount, "a secret has 32 bytes")
    self.bytes = bytes
  }

  private static let salt = Array("peer-pair-v1 scrypt".utf8)
  private static let checkByteCount = 16
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

  /// A value by which a record knows a code again, and which does not show it. As slow as the secret.
  package static func check(ofDigits digits: [UInt8], salt: [UInt8]) throws(TLSError) -> UInt128 {
    try stretch(digits, salt: salt, byteCount: checkByteCount).copied().reduce(0) { $0 << 8 | UInt128($1) }
  }

  /// scrypt over the digits; of the secret 48 bytes: 128 bits more than the modulus, so that the
  /// remainder is almost uniform.
  static func stretch(
    _ digits: [UInt8], salt: [UInt8] = salt, byteCount: Int = stretchedByteCount
  ) throws(TLSError) -> SecretBytes {
    OpenSSL.begin()
    var stretched = SecretBytes(zeros: byteCount)
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
