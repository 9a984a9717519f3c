import COpenSSL

/// A private key of P-256.
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
