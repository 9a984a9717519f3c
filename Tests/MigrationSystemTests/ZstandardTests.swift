import Expectations
import Testing

@testable import MigrationSystem

/// Machines without the library compress nothing.
@Suite(.enabled(if: Zstandard.isAvailable, "libzstd.so.1 is not installed")) struct ZstandardTests {
  @Test func `repeated bytes compress to a frame of the format, and a result that is too long is nil`() throws {
    guard let compressor = Zstandard() else { return }
    let zeros = [UInt8](repeating: 0, count: 100_000)
    var buffer = [UInt8](repeating: 0, count: 1000)
    let size = try #require(compressor.compress(zeros.span, into: &buffer))
    expect(size < 100)
    expect(buffer[..<4], is: [0x28, 0xB5, 0x2F, 0xFD])
    expect(compressor.compress(zeros.span, into: &buffer, atMost: size - 1) == nil)

    let noise = try SystemRandom.bytes(2000)
    expect(compressor.compress(noise.span, into: &buffer) == nil)
    let again = try #require(compressor.compress(zeros.span, into: &buffer))
    expect(again, is: size)
  }

  @Test func `one whole frame is decompressed, and only to its exact length`() throws {
    guard let compressor = Zstandard(), let decoder = ZstandardDecoder() else { return }
    let text = Array(String(repeating: "one line of many\n", count: 300).utf8)
    var packed = [UInt8](repeating: 0, count: 5000)
    packed.removeSubrange(try #require(compressor.compress(text.span, into: &packed))...)
    var buffer = [UInt8](repeating: 7, count: text.count + 10)
    expect(decoder.decompress(packed.span, into: &buffer, exactly: text.count))
    expect(buffer, is: text + [UInt8](repeating: 7, count: 10))
    expect(!decoder.decompress(packed.span, into: &buffer, exactly: text.count - 1))
    expect(!decoder.decompress(packed.span, into: &buffer, exactly: text.count + 1))
    let twice = packed + packed
    var room = [UInt8](repeating: 0, count: 2 * text.count)
    expect(!decoder.decompress(twice.span, into: &room, exactly: 2 * text.count))
    for count in 0..<packed.count {
      expect(!decoder.decompress(Array(packed[..<count]).span, into: &buffer, exactly: text.count))
    }
    expect(decoder.decompress(packed.span, into: &buffer, exactly: text.count))
  }
}
