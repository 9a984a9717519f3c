/// Protocol §6.8: the first frame of a data stream.
package struct Join: Equatable, Sendable {
  package let session: SessionID
  package let stream: UInt32
  /// The broken stream whose unwritten frames are sent again on this stream.
  package let replaces: UInt32?

  package init(session: SessionID, stream: UInt32, replaces: UInt32? = nil) {
    self.session = session
    self.stream = stream
    self.replaces = replaces
  }

  /// The number of bytes in the frame's body.
  package static let size = 24
  /// The number that stands for no stream.
  private static let none = UInt32.max

  init(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) {
    session = try reader.u128(bytes)
    stream = try reader.u32(bytes)
    let replaces = try reader.u32(bytes)
    self.replaces = replaces == Self.none ? nil : replaces
    guard stream != Self.none, stream != self.replaces else { throw Violation(.value, "the number of a data stream") }
  }

  func write(to writer: inout ByteWriter) {
    writer.u128(session)
    writer.u32(stream)
    writer.u32(replaces ?? Self.none)
  }
}

/// Protocol §6.8: the receiver's progress with a stream's DATA frames.
package struct Acknowledgement: Equatable, Sendable {
  /// The number of frames that are in the receiver's files and journal.
  package let written: UInt64
  /// The number of frames that are synced.
  package let durable: UInt64

  package init(written: UInt64 = 0, durable: UInt64 = 0) {
    self.written = written
    self.durable = durable
  }
}

/// Protocol §6.8: the header of a DATA frame's payload.
package struct DataHeader: Equatable, Sendable {
  package let sequence: UInt64
  package let encoding: Encoding
  /// The number of bytes of the decoded entries.
  package let plainLength: Int

  package init(sequence: UInt64, encoding: Encoding, plainLength: Int) {
    precondition((1...Limits.plainLength).contains(plainLength), "a DATA frame's entries have a limit")
    self.sequence = sequence
    self.encoding = encoding
    self.plainLength = plainLength
  }

  /// Reads the first bytes of a DATA frame's body in `range`, which is the whole body.
  package init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "a data frame"
    var reader = ByteReader(range, of: subject)
    sequence = try reader.u64(bytes)
    guard let encoding = Encoding(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, subject) }
    self.encoding = encoding
    plainLength = Int(try reader.u32(bytes))
    guard plainLength > 0, plainLength <= Limits.plainLength else { throw Violation(.limit, subject) }
    if encoding == .plain, reader.remaining != plainLength { throw Violation(.value, subject) }
  }

  package func write(to writer: inout ByteWriter) {
    writer.u64(sequence)
    writer.u8(encoding.rawValue)
    writer.u32(UInt32(plainLength))
  }

  /// How the entries of a DATA frame are packed.
  package enum Encoding: UInt8, Sendable {
    case plain = 0
    case zstd = 1
  }
}

/// A message on a data stream; of DATA only the header, since the payload stays in the received
/// bytes.
package enum StreamMessage: Equatable, Sendable {
  case join(Join)
  case data(DataHeader)
  case ack(Acknowledgement)
  case end
  case close(Close)

  /// Reads the body of a frame; nil for a frame of a later version that may be ignored.
  package init?(_ type: FrameType, _ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    var reader = ByteReader(range, of: "a frame of a data stream")
    switch type {
    case .data: self = .data(try DataHeader(bytes, range))
    case .close: self = .close(try Close(bytes, range))
    case .join:
      self = .join(try Join(&reader, bytes))
      try reader.finish()
    case .ack:
      let ack = Acknowledgement(written: try reader.u64(bytes), durable: try reader.u64(bytes))
      try reader.finish()
      guard ack.durable <= ack.written else { throw Violation(.value, "an acknowledgement") }
      self = .ack(ack)
    case .end:
      try reader.finish()
      self = .end
    case let type where type.mayBeIgnored: return nil
    default: throw Violation(.unknown, "a frame of a data stream")
    }
  }

  /// The whole frame, header included; for DATA the headers only, to be followed by `payload`
  /// bytes.
  package func frame(payload: Int = 0) -> [UInt8] {
    var body = ByteWriter()
    let type: FrameType
    switch self {
    case .join(let join):
      type = .join
      join.write(to: &body)
    case .data(let header):
      type = .data
      header.write(to: &body)
    case .ack(let ack):
      type = .ack
      body.u64(ack.written)
      body.u64(ack.durable)
    case .end: type = .end
    case .close(let close):
      type = .close
      close.write(to: &body)
    }
    return FrameHeader.frame(type, body.bytes, payload: payload)
  }
}
