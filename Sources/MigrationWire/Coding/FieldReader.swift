/// Walks a field body, one call a field, without a copy of any value.
struct FieldReader {
  private var reader: ByteReader
  private let subject: String
  private var last: UInt8 = 0
  private var count = 0

  /// Reads the fields that fill `range`.
  init(_ range: Range<Int>, of subject: String) {
    reader = ByteReader(range, of: subject)
    self.subject = subject
  }

  /// The next field's tag and where its value is, nil at the end.
  mutating func next(_ bytes: Span<UInt8>) throws(Violation) -> (tag: UInt8, value: Range<Int>)? {
    guard !reader.isAtEnd else { return nil }
    let tag = try reader.u8(bytes)
    let length = try reader.varint(bytes)
    guard tag > last else { throw Violation(.field, subject) }
    guard count < Limits.fields, length <= UInt64(reader.remaining) else { throw Violation(.truncated, subject) }
    last = tag
    count += 1
    return (tag, try reader.take(Int(length)))
  }
}
