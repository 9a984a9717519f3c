/// Writes a field body in place, as `Fields` does but without a copy of any value: for records, of
/// which there are many.
struct FieldWriter {
  private var last: UInt8 = 0
  private var unknown: ArraySlice<Fields.Field>

  /// Puts the fields that a reader had not known back among those that are written.
  init(besides unknown: Fields) {
    self.unknown = unknown.all[...]
  }

  /// Adds a field whose value has `length` bytes, which `body` writes; tags must be added in
  /// ascending order.
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
      writer.varint(UInt64(field.value.count))
      writer.array(field.value)
      unknown.removeFirst()
    }
  }
}
