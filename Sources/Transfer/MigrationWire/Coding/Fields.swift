/// A field body: values by tag, in ascending order, with the tags that this version does not know
/// kept as they came.
package struct Fields: Hashable, Sendable {
  struct Field: Hashable {
    let tag: UInt8
    let value: [UInt8]
  }

  private var fields: [Field] = []

  /// In ascending order of their tags.
  var all: [Field] { fields }

  package init() {}

  /// The number of bytes of all values.
  var size: Int { fields.reduce(0) { $0 + $1.value.count } }

  /// Reads all fields in `range`.
  package init(_ bytes: Span<UInt8>, _ range: Range<Int>, of subject: String) throws(Violation) {
    var reader = FieldReader(range, of: subject)
    while let (tag, value) = try reader.next(bytes) {
      fields.append(Field(tag: tag, value: [UInt8](copying: bytes.extracting(value))))
    }
  }

  /// Adds a field; tags ascend.
  package mutating func append(_ tag: UInt8, _ value: [UInt8]) {
    precondition(tag > fields.last?.tag ?? 0, "fields are written in ascending order")
    fields.append(Field(tag: tag, value: value))
  }

  /// Adds a field whose value `body` writes.
  package mutating func append(_ tag: UInt8, _ body: (inout ByteWriter) -> Void) {
    var writer = ByteWriter()
    body(&writer)
    append(tag, writer.bytes)
  }

  /// Writes these fields with the unknown fields of the message that was read.
  func write(with unknown: Fields, to writer: inout ByteWriter) {
    var all = self
    all.fields = (fields + unknown.fields).sorted { $0.tag < $1.tag }
    all.write(to: &writer)
  }

  /// The fields whose tags are not among `known`.
  package func unknown(besides known: some Sequence<UInt8>) -> Fields {
    var rest = Fields()
    rest.fields = fields.filter { !known.contains($0.tag) }
    return rest
  }

  /// The number of bytes of a field whose value has `count` bytes.
  static func length(ofValue count: Int) -> Int { 1 + ByteWriter.stringSize(count) }

  /// The number of bytes that `write` writes.
  package var length: Int { fields.reduce(0) { $0 + Self.length(ofValue: $1.value.count) } }

  package func write(to writer: inout ByteWriter) {
    for field in fields {
      writer.u8(field.tag)
      writer.string(field.value)
    }
  }

  /// These fields as bytes. No copy of them stays in freed memory, as of a writer that grows.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.reserve(length)
    write(to: &writer)
    return writer.bytes
  }

  /// The value of `tag`, nil where it is absent.
  package func value(_ tag: UInt8) -> [UInt8]? {
    fields.first { $0.tag == tag }?.value
  }

  /// The value of a required field.
  package func required(_ tag: UInt8, _ subject: String) throws(Violation) -> [UInt8] {
    guard let value = value(tag) else { throw Violation(.field, subject) }
    return value
  }

  /// Reads the whole value of `tag` with `body`; nil where the field is absent.
  package func read<Value>(
    _ tag: UInt8, _ subject: String,
    _ body: (inout ByteReader, Span<UInt8>) throws(Violation) -> Value
  ) throws(Violation) -> Value? {
    guard let value = value(tag) else { return nil }
    var reader = ByteReader(0..<value.count, of: subject)
    let result = try body(&reader, value.span)
    try reader.finish()
    return result
  }

  /// Reads the whole value of a required field with `body`.
  package func readRequired<Value>(
    _ tag: UInt8, _ subject: String,
    _ body: (inout ByteReader, Span<UInt8>) throws(Violation) -> Value
  ) throws(Violation) -> Value {
    guard let result = try read(tag, subject, body) else { throw Violation(.field, subject) }
    return result
  }

  /// The integer that is the whole value of `tag`; nil where the field is absent.
  package func number<Value: FixedWidthInteger>(_ tag: UInt8, _ subject: String) throws(Violation) -> Value? {
    try read(tag, subject) { reader, bytes throws(Violation) in
      var number: Value = 0
      for index in try reader.take(Value.bitWidth / 8) {
        number = number << 8 | Value(truncatingIfNeeded: bytes[index])
      }
      return number
    }
  }

  /// The integer that is the whole value of a required field.
  package func requiredNumber<Value: FixedWidthInteger>(_ tag: UInt8, _ subject: String) throws(Violation) -> Value {
    guard let number: Value = try number(tag, subject) else { throw Violation(.field, subject) }
    return number
  }

  /// A required text of at most `limit` bytes.
  package func text(_ tag: UInt8, limit: Int, _ subject: String) throws(Violation) -> String {
    guard let text = try optionalText(tag, limit: limit, subject) else { throw Violation(.field, subject) }
    return text
  }

  /// A text of at most `limit` bytes, nil where it is absent.
  package func optionalText(_ tag: UInt8, limit: Int, _ subject: String) throws(Violation) -> String? {
    guard let value = value(tag) else { return nil }
    guard value.count <= limit else { throw Violation(.limit, subject) }
    guard let text = String(validating: value, as: UTF8.self) else { throw Violation(.value, subject) }
    return text
  }

  /// The message of this type with these fields.
  package func message(_ kind: UInt8) -> [UInt8] {
    var writer = ByteWriter()
    writer.u8(kind)
    write(to: &writer)
    return writer.bytes
  }

  /// A message's type and fields.
  package static func message(_ bytes: [UInt8], _ subject: String) throws(Violation) -> (UInt8, Fields) {
    guard let kind = bytes.first else { throw Violation(.truncated, subject) }
    return (kind, try Fields(bytes.span, 1..<bytes.count, of: subject))
  }

  /// Throws if a field is not among `known`.
  package func refuseUnknown(besides known: some Sequence<UInt8>, _ subject: String) throws(Violation) {
    guard unknown(besides: known) == Fields() else { throw Violation(.unknown, subject) }
  }
}

/// Reads the fields of a field body one after another, without a copy of their values.
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

  /// The next field's tag and the place of its value; nil at the end.
  mutating func next(_ bytes: Span<UInt8>) throws(Violation) -> (tag: UInt8, value: Range<Int>)? {
    guard !reader.isAtEnd else { return nil }
    let tag = try reader.u8(bytes)
    guard tag > last else { throw Violation(.field, subject) }
    let value = try reader.string(bytes)
    guard count < Limits.fields else { throw Violation(.truncated, subject) }
    last = tag
    count += 1
    return (tag, value)
  }
}

/// Writes a field body without a copy of any value, since a transfer has many records.
struct FieldWriter {
  private var last: UInt8 = 0
  private var unknown: ArraySlice<Fields.Field>

  /// Writes the unknown fields of a record that was read among the others.
  init(besides unknown: Fields) {
    self.unknown = unknown.all[...]
  }

  /// Adds a field whose value has `length` bytes, which `body` writes; tags ascend.
  mutating func append(_ tag: UInt8, length: Int, to writer: inout ByteWriter, _ body: (inout ByteWriter) -> Void) {
    precondition(tag > last, "fields are written in ascending order")
    last = tag
    writeUnknown(below: tag, to: &writer)
    writer.u8(tag)
    writer.varint(UInt64(length))
    body(&writer)
  }

  mutating func append(_ tag: UInt8, _ value: [UInt8], to writer: inout ByteWriter) {
    append(tag, length: value.count, to: &writer) { $0.array(value) }
  }

  /// Writes the unknown fields behind the last known one.
  mutating func finish(to writer: inout ByteWriter) { writeUnknown(below: nil, to: &writer) }

  private mutating func writeUnknown(below tag: UInt8?, to writer: inout ByteWriter) {
    while let field = unknown.first, tag.map({ field.tag < $0 }) ?? true {
      writer.u8(field.tag)
      writer.string(field.value)
      unknown.removeFirst()
    }
  }
}
