import Expectations
import TestSupport
import Testing

@testable import MigrationTLS

@Suite struct SealingTests {
  private var key: SealingKey { SealingKey(copying: [UInt8](0..<32).span) }
  private let place: [UInt8] = [1, 2, 3, 4, 5]
  private let message = pattern(1_000, seed: 7)

  private func opened(_ sealed: [UInt8], for place: [UInt8]) throws -> [UInt8]? {
    try key.open(sealed[...], for: place)
  }

  @Test(arguments: vectors(in: "aes-256-gcm"))
  func `a published message is sealed and opened as published`(vector: Vector) throws {
    let key = SealingKey(copying: vector["key"].span)
    let sealed = vector["nonce"] + vector["sealed"] + vector["tag"]
    let found = try key.seal(vector["message"], for: vector["place"], nonce: vector["nonce"])
    expect(found, is: sealed)
    let opened = try key.open(sealed[...], for: vector["place"])
    expect(opened, is: vector["message"])
  }

  @Test func `a sealed message opens only for its place and under its key`() throws {
    let sealed = try key.seal(message, for: place)
    expect(sealed.count, is: message.count + SealingKey.overhead)
    expect(try opened(sealed, for: place), is: message)
    expect(try opened(sealed, for: place + [6]) == nil)
    expect(try opened(sealed, for: []) == nil)
    let other = try SealingKey.drawn().open(sealed[...], for: place)
    expect(other == nil)
  }

  @Test func `the same message is sealed differently each time`() throws {
    let sealed = try (0..<64).map { _ in try key.seal([], for: place) }
    expect(Set(sealed).count, is: 64)
    expect(Set(sealed.map { $0.prefix(12) }).count, is: 64)
  }

  @Test func `each bit that is changed, and each cut, is refused`() throws {
    let sealed = try key.seal(Array("a secret".utf8), for: place)
    for index in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[index] ^= 1 << UInt8(bit)
        expect(try opened(changed, for: place) == nil)
      }
      expect(try opened(Array(sealed[..<index]), for: place) == nil)
      expect(try opened(Array(sealed[(index + 1)...]), for: place) == nil)
    }
    expect(try opened(sealed + [0], for: place) == nil)
  }
}
