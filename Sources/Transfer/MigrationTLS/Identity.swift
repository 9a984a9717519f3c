import COpenSSL
import MigrationSystem
package import MigrationWire

/// A device's key for one pairing: a P-256 key pair and the certificate that carries its public
/// half.
///
/// The certificate names no person or device and does not expire. Only the fingerprint counts.
package final class Identity: Sendable {
  private let key: PrivateKey
  private let certificate: Certificate

  /// The fingerprint that the other device sees.
  package let fingerprint: KeyFingerprint

  private init(key: consuming PrivateKey, certificate: consuming Certificate) throws(TLSError) {
    fingerprint = try certificate.fingerprint()
    self.key = key
    self.certificate = certificate
  }

  /// Draws a fresh key and signs a certificate for it.
  package static func generate() throws(TLSError) -> Identity {
    OpenSSL.clearErrors()
    let key = try PrivateKey.generate()
    let certificate = try Certificate.selfSigned(by: key)
    return try Identity(key: key, certificate: certificate)
  }

  /// Restores an identity from what `encoded()` gave; throws `.invalidIdentity` for anything else.
  package convenience init(encoded: [UInt8]) throws(TLSError) {
    OpenSSL.clearErrors()
    var rest = encoded[...]
    guard let keyBytes = Self.takeField(from: &rest), let certificateBytes = Self.takeField(from: &rest), rest.isEmpty
    else { throw TLSError(.invalidIdentity, operation: "the reading of an identity", detail: "wrong length") }
    let key = try PrivateKey(pkcs8: keyBytes)
    let certificate = try Certificate(der: certificateBytes)
    try certificate.requireForm(certificateBytes)
    try certificate.requireKey(key)
    try self.init(key: key, certificate: certificate)
  }

  /// Writes key and certificate as bytes, for a file that only its owner can read.
  ///
  /// The format is two fields, each a length in two bytes, big-endian, and that many bytes: the
  /// private key as PKCS #8 in DER, not encrypted, and the certificate in DER. Nothing follows.
  package func encoded() throws(TLSError) -> [UInt8] {
    OpenSSL.clearErrors()
    var keyBytes = try key.pkcs8()
    defer { cleanse(&keyBytes) }
    let certificateBytes = try certificate.der()
    var result: [UInt8] = []
    // Reserves the space in advance: a growing array would leave copies of the key in freed memory.
    result.reserveCapacity(4 + keyBytes.count + certificateBytes.count)
    for field in [keyBytes, certificateBytes] {
      result.append(UInt8(field.count >> 8))
      result.append(UInt8(field.count & 0xff))
      result += field
    }
    return result
  }

  /// Gives key and certificate to a context that is being set up.
  func install(in context: OpaquePointer) throws(TLSError) {
    let operation = "the set-up of TLS"
    try unsafe certificate.install(in: context, operation)
    try unsafe key.install(in: context, operation)
    try unsafe require(SSL_CTX_check_private_key(context), operation)
  }

  private static func takeField(from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let high = bytes.popFirst(), let low = bytes.popFirst() else { return nil }
    let count = Int(high) << 8 | Int(low)
    guard count <= bytes.count else { return nil }
    defer { bytes.removeFirst(count) }
    return bytes.prefix(count)
  }
}
