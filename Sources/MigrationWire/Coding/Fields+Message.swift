/// A message between processes of one machine: a type, then fields.
extension Fields {
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

  /// Throws where a field is there that is not among `known`.
  package func refuseUnknown(besides known: some Sequence<UInt8>, _ subject: String) throws(Violation) {
    guard unknown(besides: known) == Fields() else { throw Violation(.unknown, subject) }
  }
}
