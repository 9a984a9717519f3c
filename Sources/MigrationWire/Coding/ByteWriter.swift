/// Bytes being put together, big-endian.
package struct ByteWriter: Sendable {
  /// The written bytes.
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Forgets the bytes and keeps their memory.
  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func u8(_ value: UInt8) { bytes.append(value) }
  package mutating func u16(_ value: UInt16) { integer(UInt64(value), 2) }
  package mutating func u32(_ value: UInt32) { integer(UInt64(value), 4) }
  package mutating func u64(_ value: UInt64) { integer(value, 8) }

  package mutating func u128(_ value: UInt128) {
    u64(UInt64(truncatingIfNeeded: value >> 64))
    u64(UInt64(truncatingIfNeeded: value))
  }

  package mutating func array(_ value: [UInt8]) { bytes.append(contentsOf: value) }

  /// Appends borrowed bytes without another copy of them.
  package mutating func array(_ value: Span<UInt8>) { bytes.append(copying: value) }

  /// Makes room for bytes in advance: a writer that grows leaves copies of its bytes behind, which
  /// must not happen to secrets.
  package mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  /// A varint of Protocol §5. Values of 2⁶² and above cannot be written; no length comes near.
  package mutating func varint(_ value: UInt64) {
    precondition(value < 1 << 62, "a varint holds 62 bits")
    let size = Self.varintSize(value)
    // Most lengths; a call less for each.
    if size == 1 { return u8(UInt8(value)) }
    integer(value | UInt64(size.trailingZeroBitCount) << UInt64(size * 8 - 2), size)
  }

  /// How many bytes the varint of `value` takes.
  package static func varintSize(_ value: UInt64) -> Int {
    switch value {
    case ..<(1 << 6): 1
    case ..<(1 << 14): 2
    case ..<(1 << 30): 4
    default: 8
    }
  }

  /// Puts a number where four bytes were written before, for lengths that are known later.
  package mutating func u32(_ value: UInt32, at offset: Int) {
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - index * 8)) }
  }

  /// Each length has its own loop, whose number of rounds the compiler knows.
  private mutating func integer(_ value: UInt64, _ count: Int) {
    switch count {
    case 2: bytes.append(addingCapacity: 2) { Self.put(value, 2, into: &$0) }
    case 4: bytes.append(addingCapacity: 4) { Self.put(value, 4, into: &$0) }
    default: bytes.append(addingCapacity: 8) { Self.put(value, 8, into: &$0) }
    }
  }

  @inline(__always)
  private static func put(_ value: UInt64, _ count: Int, into output: inout OutputSpan<UInt8>) {
    var shift = UInt64(count * 8)
    while shift > 0 {
      shift &-= 8
      output.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
