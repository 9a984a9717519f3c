import COpenSSL
import MigrationWire

extension KeyFingerprint {
  /// Digests the key of a certificate; throws unless that key is a point of P-256 in its one
  /// accepted encoding.
  init(ofCertificate certificate: OpaquePointer) throws(TLSError) {
    let info = try unsafe Self.publicKeyInfo(of: certificate)
    self.init(digest: unsafe sha256(info.span.bytes))
  }

  /// The first bytes of every SubjectPublicKeyInfo of an uncompressed point on the named curve
  /// P-256.
  private static let p256Prefix: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// Gives the SubjectPublicKeyInfo of a certificate.
  ///
  /// The same key could be written with a compressed point or with the curve spelled out. Those
  /// spellings are refused, so that one key has one fingerprint.
  private static func publicKeyInfo(of certificate: OpaquePointer) throws(TLSError) -> [UInt8] {
    let operation = "the check of a certificate's key"
    guard unsafe X509_get0_pubkey(certificate) != nil else {
      throw .fromQueue(.certificateUnacceptable, operation: operation)
    }
    let info = unsafe derBytes { unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }
    guard let info, info.count == p256Prefix.count + 64, info.starts(with: p256Prefix) else {
      throw TLSError(.certificateUnacceptable, operation: operation, detail: "not a P-256 key")
    }
    return info
  }
}
