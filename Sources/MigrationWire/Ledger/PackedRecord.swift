/// A record in as little memory as it takes on the wire. Taken apart, one with many small
/// attributes takes ten times as much.
struct PackedRecord: Equatable, Sendable {
  /// The file's size.
  let size: UInt64
  private let bytes: [UInt8]

  init(_ record: ItemRecord) {
    size = record.size
    var writer = ByteWriter()
    record.write(to: &writer)
    // A copy has no room to spare.
    bytes = [UInt8](copying: writer.bytes.span)
  }

  var record: ItemRecord {
    guard let record = try? ItemRecord(bytes.span, 0..<bytes.count) else {
      preconditionFailure("an encoded record decodes")
    }
    return record
  }
}
