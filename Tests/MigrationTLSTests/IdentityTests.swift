import COpenSSL
import Expectations
import MigrationWire
import Testing

@testable import MigrationTLS

@Suite struct IdentityTests {
  @Test func `an identity is restored from its bytes`() throws {
    let identity = try Identity.generate()
    let encoded = try identity.encoded()
    let restored = try Identity(encoded: encoded)
    expect(restored.fingerprint, is: identity.fingerprint)
    expect(try restored.encoded(), is: encoded)
  }

  @Test func `every identity has its own fingerprint`() throws {
    expect(try Identity.generate().fingerprint != Identity.generate().fingerprint)
  }

  @Test func `every truncation is refused`() throws {
    let encoded = try Identity.generate().encoded()
    for count in 0..<encoded.count {
      #expect(throws: TLSError.self, "\(count) bytes") { try Identity(encoded: Array(encoded.prefix(count))) }
    }
    #expect(throws: TLSError.self) { try Identity(encoded: encoded + [0]) }
  }

  @Test func `bytes after a key or a certificate are refused`() throws {
    let encoded = try Identity.generate().encoded()
    let keyCount = Int(encoded[0]) << 8 | Int(encoded[1])
    let key = Array(encoded[2..<(2 + keyCount)])
    let certificate = Array(encoded[(4 + keyCount)...])
    func joined(_ fields: [UInt8]...) -> [UInt8] {
      fields.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xff)] + $0 }
    }
    #expect(throws: Never.self) { try Identity(encoded: joined(key, certificate)) }
    #expect(throws: TLSError.self) { try Identity(encoded: joined(key + [0], certificate)) }
    #expect(throws: TLSError.self) { try Identity(encoded: joined(key, certificate + [0])) }
    #expect(throws: TLSError.self) { try Identity(encoded: joined(certificate, key)) }
  }

  @Test func `a certificate in another form than DER is refused`() throws {
    var encoded = try Identity.generate().encoded()
    // The signature is the last field: it begins with its tag, its length and its unused bits.
    var signature = encoded.count - 75
    while encoded[signature] != 3 || Int(encoded[signature + 1]) != encoded.count - signature - 2 { signature += 1 }
    try #require(encoded[signature + 2] == 0)
    encoded[signature + 2] = 1
    encoded[encoded.count - 1] |= 1
    #expect { try Identity(encoded: encoded) } throws: { ($0 as? TLSError)?.code == .invalidIdentity }
  }

  @Test func `a key under another key's certificate is refused`() throws {
    let first = try Identity.generate().encoded()
    let second = try Identity.generate().encoded()
    let keyCount = Int(first[0]) << 8 | Int(first[1])
    try #require(first.prefix(2) == second.prefix(2))
    let mixed = Array(first.prefix(2 + keyCount) + second.dropFirst(2 + keyCount))
    #expect { try Identity(encoded: mixed) } throws: { ($0 as? TLSError)?.code == .invalidIdentity }
  }

  @Test func `the certificate has no subject and does not expire`() throws {
    let encoded = try Identity.generate().encoded()
    let certificate = certificate(of: encoded)
    defer { X509_free(certificate) }
    expect(X509_NAME_entry_count(X509_get_subject_name(certificate)), is: 0)
    expect(X509_NAME_entry_count(X509_get_issuer_name(certificate)), is: 0)
    expect(date(X509_get0_notBefore(certificate)), is: DateParts(year: 100, month: 0, day: 1, second: 0))
    expect(date(X509_get0_notAfter(certificate)), is: DateParts(year: 8099, month: 11, day: 31, second: 59))
    expect(X509_get_signature_nid(certificate), is: NID_ecdsa_with_SHA256)
    expect(X509_verify(certificate, X509_get0_pubkey(certificate)), is: 1)
    expect(X509_get_ext_count(certificate), is: 0)
  }

  @Test func `serial numbers are random`() throws {
    let serials = try (0..<20).map { _ in
      let certificate = certificate(of: try Identity.generate().encoded())
      defer { X509_free(certificate) }
      return derBytes { i2d_ASN1_INTEGER(X509_get_serialNumber(certificate), $0) }
    }
    expect(Set(serials).count, is: 20)
    expect(serials.allSatisfy { $0?.count == 18 })
  }

  @Test func `a fingerprint has 32 bytes and 64 digits`() throws {
    expect(KeyFingerprint(bytes: [UInt8](repeating: 0, count: 31)) == nil)
    expect(KeyFingerprint(bytes: [UInt8](repeating: 0, count: 33)) == nil)
    let fingerprint = try #require(KeyFingerprint(bytes: [0x0a, 0xb0] + [UInt8](repeating: 0xff, count: 30)))
    expect(fingerprint.description, is: "0ab0" + String(repeating: "f", count: 60))
  }

  private struct DateParts: Equatable {
    var year: Int32
    var month: Int32
    var day: Int32
    var second: Int32
  }

  private func date(_ time: UnsafePointer<ASN1_TIME>?) -> DateParts {
    var parts = tm()
    ASN1_TIME_to_tm(time, &parts)
    return DateParts(year: parts.tm_year, month: parts.tm_mon, day: parts.tm_mday, second: parts.tm_sec)
  }

  private func certificate(of encoded: [UInt8]) -> OpaquePointer? {
    let keyCount = Int(encoded[0]) << 8 | Int(encoded[1])
    return parseDER(encoded[(4 + keyCount)...]) {
      d2i_X509(nil, $0, $1)
    } release: {
      X509_free($0)
    }
  }
}
