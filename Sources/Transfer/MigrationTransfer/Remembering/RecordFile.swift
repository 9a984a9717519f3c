import MigrationWire

/// The file of a record: a line that names the format, fields as in Protocol §5, and a checksum.
///
/// The checksum finds damage, not forgery: a program that can write the file can read the keys in
/// it.
enum RecordFile {
  private static let checksum = 16

  static func encode(_ fields: Fields, magic: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.array(magic)
    fields.write(to: &writer)
    writer.u128(code(writer.bytes))
    return writer.bytes
  }

  /// The fields of a whole file, and the index of its format.
  static func decode(
    _ bytes: [UInt8], magics: [[UInt8]], of subject: String
  ) throws(Violation) -> (fields: Fields, format: Int) {
    guard let format = magics.firstIndex(where: { bytes.starts(with: $0) }),
      bytes.count >= magics[format].count + checksum
    else { throw Violation(.unknown, subject) }
    let body = magics[format].count..<bytes.count - checksum
    var reader = ByteReader(body.upperBound..<bytes.count, of: subject)
    guard try reader.u128(bytes.span) == code(Array(bytes[..<body.upperBound])) else {
      throw Violation(.check, subject)
    }
    return (try Fields(bytes.span, body, of: subject), format)
  }

  private static func code(_ bytes: [UInt8]) -> UInt128 {
    var hash = SipHash(key: 0)
    hash.combine(bytes)
    return hash.finish()
  }
}
