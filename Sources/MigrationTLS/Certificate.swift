import COpenSSL
import MigrationWire

/// An X.509 certificate that only carries a key: no subject, no extensions, valid from 2000
/// to 9999.
@safe struct Certificate: ~Copyable, @unchecked Sendable {
  // Unchecked because of the C pointer: OpenSSL counts references atomically, and the object never
  // changes after its creation.
  private let certificate: OpaquePointer

  private init(adopting certificate: OpaquePointer) {
    unsafe self.certificate = unsafe certificate
  }

  deinit {
    unsafe X509_free(certificate)
  }

  /// Makes a certificate for `key`, signed by itself.
  static func selfSigned(by key: borrowing PrivateKey) throws(TLSError) -> Certificate {
    let operation = "the making of a certificate"
    let made = try unsafe Certificate(adopting: require(X509_new(), operation))
    let certificate = unsafe made.certificate
    try unsafe require(X509_set_version(certificate, Int(X509_VERSION_3)), operation)
    try unsafe setRandomSerial(certificate, operation)
    let notBefore = unsafe X509_getm_notBefore(certificate)
    let notAfter = unsafe X509_getm_notAfter(certificate)
    try unsafe require(ASN1_TIME_set_string_X509(notBefore, "20000101000000Z"), operation)
    try unsafe require(ASN1_TIME_set_string_X509(notAfter, "99991231235959Z"), operation)
    try unsafe key.withPointer { key throws(TLSError) in
      try unsafe require(X509_set_pubkey(certificate, key), operation)
      try unsafe require(X509_sign(certificate, key, EVP_sha256()), operation)
    }
    return made
  }

  /// Reads a certificate in DER.
  init(der bytes: ArraySlice<UInt8>) throws(TLSError) {
    let parsed = unsafe parseDER(bytes) {
      unsafe d2i_X509(nil, $0, $1)
    } release: {
      unsafe X509_free($0)
    }
    guard let parsed = unsafe parsed else {
      throw TLSError(.invalidIdentity, operation: "the reading of an identity", detail: "no certificate")
    }
    unsafe self.init(adopting: parsed)
  }

  /// Throws `.invalidIdentity` unless `bytes` are the certificate in DER, which has one form only.
  func requireForm(_ bytes: ArraySlice<UInt8>) throws(TLSError) {
    guard try der()[...] == bytes else {
      throw TLSError(.invalidIdentity, operation: "the reading of an identity", detail: "another form than DER")
    }
  }

  /// Writes the certificate in DER.
  func der() throws(TLSError) -> [UInt8] {
    guard let bytes = unsafe derBytes({ unsafe i2d_X509(certificate, $0) }) else {
      throw .fromQueue(.library, operation: "the writing of an identity")
    }
    return bytes
  }

  /// The fingerprint of the certificate's key; throws unless that is a key of P-256.
  func fingerprint() throws(TLSError) -> KeyFingerprint {
    try unsafe KeyFingerprint(ofCertificate: certificate)
  }

  /// Throws `.invalidIdentity` unless the certificate is one for `key`.
  func requireKey(_ key: borrowing PrivateKey) throws(TLSError) {
    try unsafe key.withPointer { key throws(TLSError) in
      try unsafe require(
        X509_check_private_key(certificate, key), "the reading of an identity", code: .invalidIdentity)
    }
  }

  /// Gives the certificate to a context that is being set up.
  func install(in context: OpaquePointer, _ operation: String) throws(TLSError) {
    try unsafe require(SSL_CTX_use_certificate(context, certificate), operation)
  }

  private static func setRandomSerial(_ certificate: OpaquePointer, _ operation: String) throws(TLSError) {
    var bytes = randomBytes(16)
    // A serial number is positive and has no leading zero byte.
    bytes[0] = bytes[0] & 0x3f | 0x40
    let number = try unsafe require(BN_bin2bn(bytes, Int32(bytes.count), nil), operation)
    defer { unsafe BN_free(number) }
    guard unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil else {
      throw .fromQueue(.library, operation: operation)
    }
  }
}
