import MigrationWire

/// Puts frames together again from bytes that come in pieces.
struct FrameReader {
  private var bytes: [UInt8] = []

  mutating func add(_ more: [UInt8]) { bytes += more }

  /// The next whole frame.
  mutating func next() throws -> (type: FrameType, body: [UInt8])? {
    guard bytes.count >= Limits.frameHeader else { return nil }
    let header = try FrameHeader(bytes.span.extracting(first: Limits.frameHeader))
    let end = Limits.frameHeader + header.length
    guard bytes.count >= end else { return nil }
    defer { bytes.removeFirst(end) }
    return (header.type, Array(bytes[Limits.frameHeader..<end]))
  }
}
