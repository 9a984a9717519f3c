/// A device's identity: the SHA-256 digest of its public key in the SubjectPublicKeyInfo form.
package struct KeyFingerprint: Hashable, Sendable {
  /// The number of bytes in a fingerprint.
  package static let byteCount = 32

  /// The digest, 32 bytes.
  package let bytes: [UInt8]

  /// Takes a stored digest; nil unless it has 32 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Takes a computed digest.
  package init(digest: [UInt8]) {
    precondition(digest.count == Self.byteCount, "a digest has 32 bytes")
    bytes = digest
  }
}

extension KeyFingerprint: CustomStringConvertible {
  /// The digest in lower-case hexadecimal digits.
  package var description: String { bytes.hexadecimal }
}
