import Expectations
import TestSupport
import Testing

@testable import MigrationWire

/// Frames that come in pieces.
@Suite struct FrameDecoderTests {
  private struct Seen: Equatable {
    let type: FrameType
    let body: [UInt8]
  }

  private static let frames = [
    Seen(type: .ping, body: run(0, 8)), Seen(type: .receipt, body: []), Seen(type: .data, body: run(7, 3000)),
    Seen(type: FrameType(rawValue: 0x90), body: run(1, 1)), Seen(type: .pong, body: run(9, 8)),
  ]

  private static var stream: [UInt8] {
    var writer = ByteWriter()
    for frame in frames {
      FrameHeader(type: frame.type, length: frame.body.count).write(to: &writer)
      for byte in frame.body { writer.u8(byte) }
    }
    return writer.bytes
  }

  private static func take(_ decoder: inout FrameDecoder) throws -> [Seen] {
    var seen: [Seen] = []
    while let frame = try decoder.next() { seen.append(Seen(type: frame.type, body: Array(decoder.bytes[frame.body]))) }
    return seen
  }

  @Test(arguments: [1, 2, 3, 5, 7, 64, 1000, 5000])
  func `pieces of every size give the same frames`(size: Int) throws {
    var decoder = FrameDecoder()
    var seen: [Seen] = []
    let stream = Self.stream
    for start in stride(from: 0, to: stream.count, by: size) {
      decoder.append(stream[start..<min(start + size, stream.count)].span)
      seen += try Self.take(&decoder)
    }
    expect(seen, is: Self.frames)
  }

  @Test func `a caller reads into the decoder`() throws {
    var decoder = FrameDecoder()
    var rest = Self.stream[...]
    var seen: [Seen] = []
    while !rest.isEmpty {
      let got = decoder.read(atMost: 300) { (target, range) in
        let piece = rest.prefix(min(range.count, 11))
        target.replaceSubrange(range.lowerBound..<range.lowerBound + piece.count, with: piece)
        rest = rest.dropFirst(piece.count)
        return piece.count
      }
      expect(got ?? 0 > 0)
      seen += try Self.take(&decoder)
    }
    expect(seen, is: Self.frames)
  }

  @Test func `random cuts change nothing`() throws {
    for seed in 0..<200 {
      var dice = Generator(seed: UInt64(seed))
      var decoder = FrameDecoder()
      var rest = Self.stream[...]
      var seen: [Seen] = []
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...700, using: &dice))
        rest = rest.dropFirst(piece.count)
        decoder.append(piece.span)
        if Bool.random(using: &dice) { seen += try Self.take(&decoder) }
      }
      seen += try Self.take(&decoder)
      expect(seen, is: Self.frames)
    }
  }

  @Test func `a frame that is too long is refused at its header`() {
    var decoder = FrameDecoder()
    decoder.append(([0x31, 0x00, 0x14, 0x00, 0x01] as [UInt8]).span)
    expect(violation { () throws(Violation) in _ = try decoder.next() }, is: .limit)
  }
}
