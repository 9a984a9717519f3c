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

/// A private key of P-256.
///
/// `@unchecked`: the pointer is set once, and libcrypto counts its references by atomic operations.
@safe struct PrivateKey: ~Copyable, @unchecked Sendable {
  // Unchecked because of the C pointer: OpenSSL counts references atomically, and the object never
  // changes after its creation.
  private let key: OpaquePointer

  private init(adopting key: OpaquePointer) {
    unsafe self.key = unsafe key
  }

  deinit {
    unsafe EVP_PKEY_free(key)
  }

  /// Draws a fresh key.
  static func generate() throws(TLSError) -> PrivateKey {
    OpenSSL.begin()
    return try unsafe PrivateKey(adopting: require(peer_EVP_EC_gen("P-256"), "the making of a key"))
  }

  /// Reads a key in the PKCS #8 form; the certificate beside it decides whether it is one of P-256.
  init(pkcs8 bytes: ArraySlice<UInt8>) throws(TLSError) {
    let operation = "the reading of an identity"
    let info = unsafe parseDER(bytes) {
      unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
    } release: {
      unsafe PKCS8_PRIV_KEY_INFO_free($0)
    }
    guard let info = unsafe info else { throw TLSError(.invalidIdentity, operation: operation, detail: "no key") }
    defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
    unsafe self.init(adopting: try require(EVP_PKCS82PKEY(info), operation, code: .invalidIdentity))
  }

  /// Writes the key in the PKCS #8 form, not encrypted.
  func pkcs8() throws(TLSError) -> [UInt8] {
    let operation = "the writing of an identity"
    let info = try unsafe require(EVP_PKEY2PKCS8(key), operation)
    defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
    guard let bytes = unsafe derBytes({ unsafe i2d_PKCS8_PRIV_KEY_INFO(info, $0) }) else {
      throw .fromQueue(.library, operation: operation)
    }
    return bytes
  }

  /// Runs `body` with the C object. This object keeps the ownership.
  func withPointer<R, E: Error>(_ body: (OpaquePointer) throws(E) -> R) throws(E) -> R {
    try unsafe body(key)
  }

  /// Gives the key to a context that is being set up.
  func install(in context: OpaquePointer, _ operation: String) throws(TLSError) {
    try unsafe require(SSL_CTX_use_PrivateKey(context, key), operation)
  }
}

/// Runs one of OpenSSL's `i2d_` functions twice, for the length and for the bytes; nil when it
/// refuses.
func derBytes(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
  let count = Int(encode(nil))
  guard count > 0 else { return nil }
  var written: Int32 = 0
  let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    var cursor = buffer.baseAddress
    written = unsafe encode(&cursor)
    initialized = Int(max(written, 0))
  }
  return Int(written) == count ? bytes : nil
}

/// Runs one of OpenSSL's `d2i_` functions over all of `bytes`; nil when it refuses or leaves
/// something over.
///
/// The caller owns the result; `release` frees it when something was left over.
func parseDER(
  _ bytes: ArraySlice<UInt8>,
  with decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
  release: (OpaquePointer) -> Void
) -> OpaquePointer? {
  OpenSSL.begin()
  return unsafe bytes.withUnsafeBufferPointer { buffer in
    var cursor = buffer.baseAddress
    guard let object = unsafe decode(&cursor, buffer.count) else {
      OpenSSL.clearErrors()
      return nil
    }
    guard unsafe cursor == buffer.baseAddress.map({ unsafe $0 + buffer.count }) else {
      unsafe release(object)
      return nil
    }
    return unsafe object
  }
}
