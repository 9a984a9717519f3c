/// The type of a frame after READY (Protocol §6).
package struct FrameType: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let greeting = FrameType(rawValue: 0x10)
  package static let offer = FrameType(rawValue: 0x11)
  package static let accept = FrameType(rawValue: 0x12)
  package static let held = FrameType(rawValue: 0x13)
  package static let partial = FrameType(rawValue: 0x14)
  package static let heldEnd = FrameType(rawValue: 0x15)
  package static let drop = FrameType(rawValue: 0x16)
  package static let unsent = FrameType(rawValue: 0x17)
  package static let finish = FrameType(rawValue: 0x18)
  package static let progress = FrameType(rawValue: 0x19)
  package static let done = FrameType(rawValue: 0x1A)
  package static let receipt = FrameType(rawValue: 0x1B)
  package static let refused = FrameType(rawValue: 0x1C)
  package static let ping = FrameType(rawValue: 0x1E)
  package static let pong = FrameType(rawValue: 0x1F)
  package static let close = FrameType(rawValue: 0x20)
  package static let join = FrameType(rawValue: 0x30)
  package static let data = FrameType(rawValue: 0x31)
  package static let ack = FrameType(rawValue: 0x32)
  package static let end = FrameType(rawValue: 0x33)

  /// A later version may send it, and this one skips it.
  package var mayBeIgnored: Bool { rawValue >= 0x80 }
}

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

  package func write(to writer: inout ByteWriter) {
    writer.u8(type.rawValue)
    writer.u32(UInt32(length))
  }
}
