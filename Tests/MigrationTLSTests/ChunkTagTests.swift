import MigrationWire
import TestSupport
import Testing

@testable import MigrationTLS

@Suite struct ChunkTagTests {
  private let key = [UInt8](0..<16)
  private let header: [UInt8] = [1, 2, 3, 4, 5]
  private let data = pattern(10_000, seed: 7)

  private func nonce(_ bytes: [UInt8]) -> ChunkNonce {
    ChunkNonce(
      prefix: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }, counter: bytes[8...].reduce(0) { $0 << 8 | UInt32($1) })
  }

  @Test(arguments: vectors(in: "gmac"))
  func `the tagger computes a published tag for every length of the header`(vector: Vector) throws {
    let data = vector["data"]
    for split in 0...data.count {
      var tagger = try ChunkTagger(key: vector["key"], firstNonce: nonce(vector["nonce"]))
      let parts = (header: Array(data[..<split]), data: Array(data[split...]))
      let tag = tagger.tag(header: parts.header.span, data: parts.data.span)
      var written = ByteWriter()
      tag.write(to: &written)
      #expect(written.bytes == vector["nonce"] + vector["tag"])
    }
  }

  @Test func `another tagger with the same key accepts a tag`() throws {
    var tagger = try ChunkTagger(key: key)
    let tag = tagger.tag(header: header.span, data: data.span)
    let verified = tagger.verify(tag, header: header.span, data: data.span)
    #expect(verified)
    var other = try ChunkTagger(key: key)
    let verifiedByOther = other.verify(tag, header: header.span, data: data.span)
    #expect(verifiedByOther)
  }

  @Test func `an altered header is refused`() throws {
    var tagger = try ChunkTagger(key: key)
    let tag = tagger.tag(header: header.span, data: data.span)
    for position in header.indices {
      var altered = header
      altered[position] ^= 0x80
      let verified = tagger.verify(tag, header: altered.span, data: data.span)
      #expect(!verified)
    }
  }

  @Test(arguments: [0, 15, 16, 4_095, 9_999])
  func `altered data is refused`(position: Int) throws {
    var tagger = try ChunkTagger(key: key)
    let tag = tagger.tag(header: header.span, data: data.span)
    var altered = data
    altered[position] ^= 1
    let verified = tagger.verify(tag, header: header.span, data: altered.span)
    #expect(!verified)
  }

  @Test func `shortened or extended data is refused`() throws {
    var tagger = try ChunkTagger(key: key)
    let tag = tagger.tag(header: header.span, data: data.span)
    let (shorter, longer) = (Array(data.dropLast()), data + [0])
    let shortened = tagger.verify(tag, header: header.span, data: shorter.span)
    #expect(!shortened)
    let extended = tagger.verify(tag, header: header.span, data: longer.span)
    #expect(!extended)
  }

  @Test(arguments: 0..<28)
  func `an altered nonce or code is refused`(position: Int) throws {
    var tagger = try ChunkTagger(key: key)
    let tag = tagger.tag(header: header.span, data: data.span)
    let bit = UInt128(1) << UInt128((27 - position) * 8 % 128)
    let altered = ChunkSeal(
      nonceHigh: tag.nonceHigh ^ (position < 8 ? 1 << UInt64((7 - position) * 8) : 0),
      nonceLow: tag.nonceLow ^ ((8..<12).contains(position) ? 1 << UInt32((11 - position) * 8) : 0),
      tag: tag.tag ^ (position >= 12 ? bit : 0))
    #expect(altered != tag)
    let verified = tagger.verify(altered, header: header.span, data: data.span)
    #expect(!verified)
  }

  @Test func `another key refuses the tag`() throws {
    var tagger = try ChunkTagger(key: key)
    let tag = tagger.tag(header: header.span, data: data.span)
    var other = try ChunkTagger(key: key.reversed())
    let verified = other.verify(tag, header: header.span, data: data.span)
    #expect(!verified)
  }

  @Test func `the tagger uses no nonce twice`() throws {
    var tagger = try ChunkTagger(key: key)
    var seen: Set<ChunkNonce> = []
    for _ in 0..<100_000 { seen.insert(ChunkNonce(tagger.tag(header: header.span, data: header.span))) }
    #expect(seen.count == 100_000)
  }

  @Test func `two taggers under one key draw different prefixes`() throws {
    var first = try ChunkTagger(key: key)
    var second = try ChunkTagger(key: key)
    let one = first.tag(header: header.span, data: header.span)
    let other = second.tag(header: header.span, data: header.span)
    #expect(one.nonceHigh != other.nonceHigh)
  }

  @Test func `the tagger draws a new prefix when its counter is used up`() throws {
    var tagger = try ChunkTagger(key: key, firstNonce: ChunkNonce(prefix: 1, counter: .max))
    let last = tagger.tag(header: header.span, data: header.span)
    let next = tagger.tag(header: header.span, data: header.span)
    #expect(ChunkNonce(last) == ChunkNonce(prefix: 1, counter: .max))
    #expect(next.nonceHigh != 1)
    #expect(next.nonceLow == 0)
  }
}
