package import MigrationWire

/// An input that is taken apart from its front. Bytes beyond its end are 0.
package struct InputBytes {
  package private(set) var rest: ArraySlice<UInt8>

  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  package var isEmpty: Bool { rest.isEmpty }

  package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  package mutating func flag() -> Bool { byte() & 1 == 1 }

  /// A number from 0 on, below `bound`, which is at most 256.
  package mutating func number(below bound: Int) -> Int { Int(byte()) % bound }

  /// Small numbers, those around the limits of types, and any others.
  package mutating func u64() -> UInt64 {
    let shape = byte()
    switch shape >> 6 {
    case 0: return UInt64(shape & 0x3F)
    case 1: return UInt64(shape & 0x3F) << 8 | UInt64(byte())
    case 2:
      let power: UInt64 = 1 << UInt64(shape & 0x3F)
      return power &- UInt64(byte() % 3) &+ 1
    default: return (0..<8).reduce(0) { value, _ in value << 8 | UInt64(byte()) }
    }
  }

  /// Seconds: often few, rarely many.
  package mutating func seconds() -> Double {
    let value = byte()
    return value < 192 ? Double(value) / 20 : Double(value - 191) * 20
  }

  package mutating func take(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// A part of the input with its length in front.
  package mutating func part() -> [UInt8] { take(Int(byte())) }

  package mutating func all() -> [UInt8] { take(rest.count) }

  /// One of a few paths, or any.
  package mutating func path() -> ArchivePath? {
    let shape = byte()
    let bytes = shape < 250 ? Array((shape & 1 == 0 ? "root" : "root/\(shape >> 1 & 7)").utf8) : part()
    return read { try ArchivePath(bytes) }
  }
}
