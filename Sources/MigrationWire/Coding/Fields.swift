/// A field body: values by tag, in ascending order, with the tags that this version does not know
/// kept as they came.
package struct Fields: Equatable, Sendable {
  struct Field: Equatable {
    let tag: UInt8
    let value: [UInt8]
  }

  private var fields: [Field] = []

  /// In ascending order of their tags.
  var all: [Field] { fields }

  package init() {}

  /// How many bytes the values have together.
  var size: Int { fields.reduce(0) { $0 + $1.value.count } }

  /// Reads all fields in `range`.
  package init(_ bytes: Span<UInt8>, _ range: Range<Int>, of subject: String) throws(Violation) {
    var reader = FieldReader(range, of: subject)
    while let (tag, value) = try reader.next(bytes) {
      fields.append(Field(tag: tag, value: [UInt8](copying: bytes.extracting(value))))
    }
  }

  /// Adds a field; tags must be added in ascending order.
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

  /// Puts back the fields that a reader had not known, among the known ones.
  package mutating func merge(_ unknown: Fields) {
    guard !unknown.fields.isEmpty else { return }
    fields = (fields + unknown.fields).sorted { $0.tag < $1.tag }
  }

  /// The fields whose tags are not among `known`.
  package func unknown(besides known: some Sequence<UInt8>) -> Fields {
    var rest = Fields()
    rest.fields = fields.filter { !known.contains($0.tag) }
    return rest
  }

  /// How many bytes a field takes whose value has so many.
  static func length(ofValue count: Int) -> Int { 1 + ByteWriter.varintSize(UInt64(count)) + count }

  /// How many bytes `write` writes.
  package var length: Int { fields.reduce(0) { $0 + Self.length(ofValue: $1.value.count) } }

  package func write(to writer: inout ByteWriter) {
    for field in fields {
      writer.u8(field.tag)
      writer.varint(UInt64(field.value.count))
      writer.array(field.value)
    }
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
}
