/// A place in borrowed bytes. It holds no bytes itself: every call is given the same span again.
package struct ByteReader: Sendable {
  /// Where the next read starts.
  package private(set) var offset: Int
  /// Where reading ends.
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

  /// Takes `count` bytes and answers where they are.
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

  /// Copies the next `count` bytes.
  package mutating func array(_ bytes: Span<UInt8>, _ count: Int) throws(Violation) -> [UInt8] {
    [UInt8](copying: bytes.extracting(try take(count)))
  }

  /// Copies everything up to the end.
  package mutating func rest(_ bytes: Span<UInt8>) throws(Violation) -> [UInt8] {
    try array(bytes, remaining)
  }

  /// Fails unless everything has been read.
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
    // An empty array's storage is everyone's, and `append(addingCapacity:)` would write its count.
    if span.isEmpty { return }
    append(addingCapacity: span.count) { copy in
      for index in span.indices { copy.append(span[index]) }
    }
  }
}
