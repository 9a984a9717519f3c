import Expectations
import TestSupport
import Testing

@testable import MigrationWire

/// Any bytes are refused with a violation, may be ignored, or mean exactly one value.
@Suite struct MutationTests {
  private enum Fate { case refused, ignored, exact, inexact }

  private func fate(_ bytes: [UInt8], isEarly: Bool) -> Fate {
    do throws(Violation) {
      let frame: Frame?
      if isEarly { frame = .early(try PairingFrame(bytes.span)) } else { frame = try Frame(bytes) }
      guard let frame else { return .ignored }
      return frame.bytes == bytes ? .exact : .inexact
    } catch { return .refused }
  }

  @Test(arguments: Vector.short)
  func `every prefix of a frame is refused`(vector: Vector) {
    for count in 0..<vector.bytes.count {
      if fate(Array(vector.bytes.prefix(count)), isEarly: vector.isEarly) != .refused { Issue.record("\(count) bytes") }
    }
  }

  @Test(arguments: Vector.short)
  func `a truncated body is refused or means its remaining fields`(vector: Vector) {
    let header = vector.isEarly ? PairingFrame.headerSize : Limits.frameHeader
    for count in 0..<vector.bytes.count - header {
      var cut = Array(vector.bytes.prefix(header + count))
      cut.replaceSubrange(
        1..<header, with: (1..<header).map { UInt8(truncatingIfNeeded: count >> ((header - 1 - $0) * 8)) })
      let fate = fate(cut, isEarly: vector.isEarly)
      if fate != .refused, fate != .exact { Issue.record("\(count) bytes") }
    }
  }

  @Test(arguments: Vector.short)
  func `every flipped bit is refused or means what it says`(vector: Vector) {
    for index in vector.bytes.indices {
      for bit in 0..<8 {
        var flipped = vector.bytes
        flipped[index] ^= 1 << bit
        let fate = fate(flipped, isEarly: vector.isEarly)
        // Only another type makes a frame that may be ignored.
        let mayBeIgnored = fate == .ignored && index == 0 && flipped[0] > 0x80 && !vector.isEarly
        if fate != .refused, fate != .exact, !mayBeIgnored { Issue.record("byte \(index), bit \(bit)") }
      }
    }
  }

  @Test(arguments: Vector.short)
  func `every byte that is FF or 00 instead, and every byte left out or doubled, is refused or exact`(vector: Vector) {
    let header = vector.isEarly ? PairingFrame.headerSize : Limits.frameHeader
    for index in header..<max(header, vector.bytes.count) {
      var high = vector.bytes
      var zero = vector.bytes
      var less = vector.bytes
      var more = vector.bytes
      high[index] = 0xFF
      zero[index] = 0
      less.remove(at: index)
      less[header - 1] &-= 1
      more.insert(vector.bytes[index], at: index)
      more[header - 1] &+= 1
      for bytes in [high, zero, less, more] {
        let fate = fate(bytes, isEarly: vector.isEarly)
        if fate != .refused, fate != .exact { Issue.record("byte \(index)") }
      }
    }
  }

  @Test func `random bodies of every type are refused, ignored or exact`() {
    var random = Seeded(1)
    for round in 0..<20_000 {
      var body = random.bytes(Int.random(in: 0...80, using: &random))
      if round % 4 == 0 { body = [UInt8](repeating: 0xFF, count: body.count) }
      let type = UInt8(truncatingIfNeeded: round)
      let fate = fate([type, 0, 0, 0, UInt8(body.count)] + body, isEarly: false)
      let early = self.fate([type % 16, 0, UInt8(body.count)] + body, isEarly: true)
      if fate == .inexact || (fate == .ignored) != (type > 0x80) || early == .inexact {
        Issue.record("type \(type), \(body)")
      }
    }
  }

  @Test func `pieces of valid bodies put together at random are refused or exact`() {
    var random = Seeded(2)
    let vectors = Vector.short.filter { !$0.isEarly && $0.bytes.count > 5 }
    for _ in 0..<20_000 {
      let (one, other) = (vectors.randomElement(using: &random)!, vectors.randomElement(using: &random)!)
      let (front, back) = (one.bytes.dropFirst(5), other.bytes.dropFirst(5))
      let body =
        front.prefix(Int.random(in: 0...front.count, using: &random))
        + back.suffix(Int.random(in: 0...back.count, using: &random))
      var writer = ByteWriter()
      FrameHeader(type: FrameType(rawValue: one.bytes[0]), length: body.count).write(to: &writer)
      let fate = fate(writer.bytes + body, isEarly: false)
      if fate != .refused, fate != .exact { Issue.record("\(writer.bytes + body)") }
    }
  }

  @Test func `entries of any bytes are refused or exact`() {
    var random = Seeded(3)
    let entries = Array(Vector.named("data-mixed").bytes.dropFirst(18))
    for _ in 0..<10_000 {
      var bytes = entries
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let index = bytes.indices.randomElement(using: &random)!
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)!
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(contentsOf: random.bytes(4), at: index)
        default: bytes.replaceSubrange(index..<min(index + 8, bytes.count), with: [UInt8](repeating: 0xFF, count: 8))
        }
      }
      guard let pieces = try? Frame.pieces(bytes, 0..<bytes.count) else { continue }
      if Frame.encode(pieces) != bytes { Issue.record("\(bytes)") }
    }
  }

  @Test(arguments: [0x10, 0x11, 0x12, 0x14, 0x15, 0x17, 0x18, 0x1A, 0x1C, 0x20, 0x22, 0x23, 0x25] as [UInt8])
  func `a field that claims a huge length is refused`(type: UInt8) {
    for length in [[0x3F], [0x7F, 0xFF], [0xBF, 0xFF, 0xFF, 0xFF], [UInt8](repeating: 0xFF, count: 8)] as [[UInt8]] {
      for tag in 1...9 as ClosedRange<UInt8> {
        let body = [tag] + length
        expect(fate([type, 0, 0, 0, UInt8(body.count)] + body, isEarly: false), is: .refused)
      }
    }
  }

  @Test(arguments: [1_310_721, 1 << 24, Int(UInt32.max)])
  func `a frame longer than the limit is refused by its header`(length: Int) {
    var writer = ByteWriter()
    writer.u8(0x31)
    writer.u32(UInt32(length))
    expect(violation { () throws(Violation) in _ = try FrameHeader(writer.bytes.span) }, is: .limit)
  }

  @Test func `a frame of the greatest length is taken by its header`() throws {
    let header = try FrameHeader([0x31, 0x00, 0x14, 0x00, 0x00].span)
    expect(header.length, is: 1_310_720)
  }
}
