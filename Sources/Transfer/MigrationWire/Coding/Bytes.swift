/// A position in borrowed bytes. Each call gets the same span.
package struct ByteReader: Sendable {
  /// The start of the next read.
  package private(set) var offset: Int
  /// The end of the bytes to read.
  package let end: Int
  private let subject: String

  /// Reads `range` of the bytes; `subject` names them in violations.
  package init(_ range: Range<Int>, of subject: String) {
    self.offset = range.lowerBound
    self.end = range.upperBound
    self.subject = subject
  }

  package var isAtEnd: Bool { offset == end }
  package var remaining: Int { end - offset }

  /// Takes the next `count` bytes. Returns their range.
  package mutating func take(_ count: Int) throws(Violation) -> Range<Int> {
    guard count >= 0, count <= remaining else { throw Violation(.truncated, subject) }
    defer { offset += count }
    return offset..<offset + count
  }

  package mutating func u8(_ bytes: Span<UInt8>) throws(Violation) -> UInt8 {
    bytes[try take(1).lowerBound]
  }

  package mutating func u16(_ bytes: Span<UInt8>) throws(Violation) -> UInt16 {
    UInt16(truncatingIfNeeded: try integer(bytes, 2))
  }

  package mutating func u32(_ bytes: Span<UInt8>) throws(Violation) -> UInt32 {
    UInt32(truncatingIfNeeded: try integer(bytes, 4))
  }

  package mutating func u64(_ bytes: Span<UInt8>) throws(Violation) -> UInt64 {
    try integer(bytes, 8)
  }

  package mutating func u128(_ bytes: Span<UInt8>) throws(Violation) -> UInt128 {
    UInt128(try integer(bytes, 8)) << 64 | UInt128(try integer(bytes, 8))
  }

  /// A varint of Protocol §5, refused unless it is as short as possible.
  package mutating func varint(_ bytes: Span<UInt8>) throws(Violation) -> UInt64 {
    let first = try u8(bytes)
    var value = UInt64(first & 0x3F)
    let more = (1 << Int(first >> 6)) - 1
    for _ in 0..<more { value = value << 8 | UInt64(try u8(bytes)) }
    guard ByteWriter.varintSize(value) == more + 1 else { throw Violation(.value, subject) }
    return value
  }

  /// Takes the next string, which has its length in front (Protocol §5). Returns the range of its bytes.
  package mutating func string(_ bytes: Span<UInt8>) throws(Violation) -> Range<Int> {
    let length = try varint(bytes)
    guard length <= UInt64(remaining) else { throw Violation(.truncated, subject) }
    return try take(Int(length))
  }

  /// Copies the next string.
  package mutating func stringBytes(_ bytes: Span<UInt8>) throws(Violation) -> [UInt8] {
    [UInt8](copying: bytes.extracting(try string(bytes)))
  }

  /// Copies the next `count` bytes.
  package mutating func array(_ bytes: Span<UInt8>, _ count: Int) throws(Violation) -> [UInt8] {
    [UInt8](copying: bytes.extracting(try take(count)))
  }

  /// Copies the remaining bytes.
  package mutating func rest(_ bytes: Span<UInt8>) throws(Violation) -> [UInt8] {
    try array(bytes, remaining)
  }

  /// Throws unless everything has been read.
  package func finish() throws(Violation) {
    guard isAtEnd else { throw Violation(.trailing, subject) }
  }

  private mutating func integer(_ bytes: Span<UInt8>, _ count: Int) throws(Violation) -> UInt64 {
    var value: UInt64 = 0
    for index in try take(count) { value = value << 8 | UInt64(bytes[index]) }
    return value
  }
}

extension [UInt8] {
  /// An owned copy of borrowed bytes.
  package init(copying span: Span<UInt8>) {
    self = []
    // The initializer with a capacity looks up the type's metadata for each array.
    append(copying: span)
  }

  /// Appends borrowed bytes.
  mutating func append(copying span: Span<UInt8>) {
    #if compiler(>=6.3)
      // `append(addingCapacity:)` would write the count of the storage that empty arrays share.
      if span.isEmpty { return }
      append(addingCapacity: span.count) { copy in
        for index in span.indices { copy.append(span[index]) }
      }
    #else
      for index in span.indices { append(span[index]) }
    #endif
  }
}

/// Writes bytes and big-endian integers into an array.
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

  /// Reserves memory for bytes: a writer that grows leaves copies behind, which must not happen to
  /// secrets.
  package mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  /// A varint of Protocol §5. Values of 2⁶² and above cannot be written; no length comes near.
  package mutating func varint(_ value: UInt64) {
    precondition(value < 1 << 62, "a varint holds 62 bits")
    let size = Self.varintSize(value)
    // Most lengths have one byte.
    if size == 1 { return u8(UInt8(value)) }
    integer(value | UInt64(size.trailingZeroBitCount) << UInt64(size * 8 - 2), size)
  }

  /// Writes a string of Protocol §5: its length in front.
  package mutating func string(_ value: [UInt8]) {
    varint(UInt64(value.count))
    array(value)
  }

  /// The number of bytes of a string of `count` bytes.
  package static func stringSize(_ count: Int) -> Int { varintSize(UInt64(count)) + count }

  /// The number of bytes of the varint of `value`.
  package static func varintSize(_ value: UInt64) -> Int {
    switch value {
    case ..<(1 << 6): 1
    case ..<(1 << 14): 2
    case ..<(1 << 30): 4
    default: 8
    }
  }

  /// Overwrites four bytes with a number, for lengths that are known later.
  package mutating func u32(_ value: UInt32, at offset: Int) {
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - index * 8)) }
  }

  /// Each length has its own loop, whose number of rounds the compiler knows.
  private mutating func integer(_ value: UInt64, _ count: Int) {
    #if compiler(>=6.3)
      switch count {
      case 2: bytes.append(addingCapacity: 2) { Self.put(value, 2, into: &$0) }
      case 4: bytes.append(addingCapacity: 4) { Self.put(value, 4, into: &$0) }
      default: bytes.append(addingCapacity: 8) { Self.put(value, 8, into: &$0) }
      }
    #else
      for place in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(place * 8))) }
    #endif
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

extension UInt64 {
  /// Reads eight bytes, the lowest first. The compiler makes one load of these terms.
  @inline(__always)
  init(littleEndian bytes: Span<UInt8>) {
    precondition(bytes.count == 8, "eight bytes")
    var word = UInt64(bytes[0])
    word |= UInt64(bytes[1]) << 8
    word |= UInt64(bytes[2]) << 16
    word |= UInt64(bytes[3]) << 24
    word |= UInt64(bytes[4]) << 32
    word |= UInt64(bytes[5]) << 40
    word |= UInt64(bytes[6]) << 48
    word |= UInt64(bytes[7]) << 56
    self = word
  }
}
