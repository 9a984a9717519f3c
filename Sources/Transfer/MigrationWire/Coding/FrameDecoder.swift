/// Finds the frames in a stream of bytes (Protocol §6). A caller reads bytes directly into the decoder.
package struct FrameDecoder: Sendable {
  /// A whole frame; its body is a range of the decoder's bytes until the next call that changes the
  /// decoder.
  package struct Frame: Equatable, Sendable {
    package let type: FrameType
    package let body: Range<Int>
  }

  /// The received bytes, and free room after them.
  package private(set) var bytes: [UInt8] = []
  /// The start of the next frame, and the end of the received bytes.
  private var start = 0
  private var end = 0

  package init() {}

  private var header: FrameHeader? {
    get throws(Violation) {
      guard end - start >= Limits.frameHeader else { return nil }
      return try FrameHeader(bytes.span.extracting(start..<start + Limits.frameHeader))
    }
  }

  /// Lets `read` fill at most `count` bytes; it returns their number, or nil for none.
  package mutating func read<Failure: Error>(
    atMost count: Int, _ read: (inout [UInt8], Range<Int>) throws(Failure) -> Int?
  ) throws(Failure) -> Int? {
    makeRoom(count)
    let got = try read(&bytes, end..<end + count)
    end += got ?? 0
    return got
  }

  /// Appends received bytes.
  package mutating func append(_ new: Span<UInt8>) {
    makeRoom(new.count)
    for index in new.indices { bytes[end + index] = new[index] }
    end += new.count
  }

  private mutating func makeRoom(_ count: Int) {
    if start == end {
      (start, end) = (0, 0)
    } else if start > 0, end + count > bytes.count {
      bytes.replaceSubrange(0..<end - start, with: Array(bytes[start..<end]))
      (start, end) = (0, end - start)
    }
    if end + count > bytes.count { bytes += [UInt8](repeating: 0, count: end + count - bytes.count) }
  }

  /// The next whole frame; nil if it is not complete.
  package mutating func next() throws(Violation) -> Frame? {
    guard let header = try header else { return nil }
    let body = start + Limits.frameHeader
    guard end - body >= header.length else { return nil }
    start = body + header.length
    return Frame(type: header.type, body: body..<start)
  }
}

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
  package static let notStored = FrameType(rawValue: 0x17)
  package static let finish = FrameType(rawValue: 0x18)
  package static let progress = FrameType(rawValue: 0x19)
  package static let done = FrameType(rawValue: 0x1A)
  package static let receipt = FrameType(rawValue: 0x1B)
  package static let ping = FrameType(rawValue: 0x1E)
  package static let pong = FrameType(rawValue: 0x1F)
  package static let close = FrameType(rawValue: 0x20)
  package static let plan = FrameType(rawValue: 0x22)
  package static let verdict = FrameType(rawValue: 0x23)
  package static let failed = FrameType(rawValue: 0x25)
  package static let join = FrameType(rawValue: 0x30)
  package static let data = FrameType(rawValue: 0x31)
  package static let ack = FrameType(rawValue: 0x32)
  package static let end = FrameType(rawValue: 0x33)
  package static let addresses = FrameType(rawValue: 0x80)

  /// Whether a version that does not know the type skips the frame.
  package var mayBeIgnored: Bool { rawValue >= 0x80 }
}
