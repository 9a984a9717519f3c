/// The five bytes in front of a frame's body.
package struct FrameHeader: Equatable, Sendable {
  package let type: FrameType
  /// The length of the body, within its limit.
  package let length: Int

  package init(type: FrameType, length: Int) {
    precondition((0...Limits.frameBody).contains(length), "a frame's body has a limit")
    self.type = type
    self.length = length
  }

  /// Reads the first `Limits.frameHeader` bytes.
  package init(_ bytes: Span<UInt8>) throws(Violation) {
    var reader = ByteReader(0..<bytes.count, of: "a frame")
    type = FrameType(rawValue: try reader.u8(bytes))
    length = Int(try reader.u32(bytes))
    guard length <= Limits.frameBody else { throw Violation(.limit, "a frame") }
  }

  /// A frame with the start of its body; the `payload` bytes of the rest are sent separately.
  static func frame(_ type: FrameType, _ body: [UInt8], payload: Int = 0) -> [UInt8] {
    var writer = ByteWriter()
    FrameHeader(type: type, length: body.count + payload).write(to: &writer)
    writer.array(body)
    return writer.bytes
  }

  package func write(to writer: inout ByteWriter) {
    writer.u8(type.rawValue)
    writer.u32(UInt32(length))
  }
}
