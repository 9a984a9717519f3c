import Expectations
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationTLS

/// Secrets are gone from this process's memory once their last user is.
@Suite(.serialized, .disabled(if: Sanitizer.isUsed, "a sanitizer keeps freed memory, and a search of it does not end"))
struct CleansingTests {
  /// A fresh secret, as its complement.
  private let complement = randomBytes(32)

  /// A longer one. The C library writes to the first 16 bytes of memory that is freed, so that a
  /// short secret is not found there even if nothing wipes it.
  private let longComplement = randomBytes(256)

  private func secret() -> [UInt8] { complement.map { ~$0 } }

  private func countOfLong() throws -> Int {
    try OwnMemory.count(ofComplementOf: Array(longComplement.dropFirst(16)))
  }

  private func expectHeld() throws { expect(try OwnMemory.count(ofComplementOf: complement) > 0) }

  /// A later allocation may take the memory of some of them.
  private func manyCopies() -> [[UInt8]] { (0..<1000).map { _ in secret() } }

  @Test func `a cleansed array leaves nothing`() throws {
    var copies = manyCopies()
    try expectHeld()
    for index in copies.indices { cleanse(&copies[index]) }
    expect(copies.allSatisfy { $0.isEmpty })
    expect(try OwnMemory.count(ofComplementOf: complement), is: 0)
  }

  @Test func `arrays that are only forgotten stay`() throws {
    var copies = manyCopies()
    copies = []
    expect(try OwnMemory.count(ofComplementOf: complement) > 0)
    expect(copies.isEmpty)
  }

  @Test func `secret bytes leave nothing, and neither do their parts`() throws {
    try use()
    expect(try countOfLong(), is: 0)
  }

  private func use() throws {
    var bytes = longComplement.map { ~$0 }
    defer { cleanse(&bytes) }
    let kept = SecretBytes(bytes.span.bytes)
    let part = kept.part(0..<256)
    expect(try countOfLong() > 2)
    let sizes = [kept.count, part.count]
    expect(sizes, is: [256, 256])
  }

  @Test func `the secret of a code is gone with its last user`() throws {
    try share()
    expect(try OwnMemory.count(ofComplementOf: complement), is: 0)
  }

  private func share() throws {
    var bytes = secret()
    var one: PairingSecret? = PairingSecret(copying: bytes)
    cleanse(&bytes)
    let other = one
    one = nil
    try expectHeld()
    expect(other != nil)
  }
}

extension PairingSecret {
  /// The secret of a vector.
  convenience init(copying bytes: [UInt8]) { self.init(SecretBytes(bytes.span.bytes)) }
}
