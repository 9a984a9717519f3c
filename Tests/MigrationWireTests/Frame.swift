@testable import MigrationWire

/// Any frame, decoded as far as it goes.
enum Frame: Equatable {
  case early(PairingFrame)
  case control(ControlMessage)
  case stream(StreamMessage)
  /// A DATA frame whose payload is its entries.
  case data(DataHeader, [Piece])
  /// A DATA frame whose payload is packed.
  case packed(DataHeader, [UInt8])

  /// An entry with its data.
  enum Piece: Equatable {
    case item(ItemRecord, Content?)
    case chunk(FilePiece, ChunkCheck, [UInt8])
    case hole(FilePiece, ChunkCheck)
    case base(FilePiece, ChunkCheck, PieceLanes)
  }

  struct Content: Equatable {
    let check: ChunkCheck
    let data: [UInt8]
  }

  /// Reads a whole frame after READY; nil for one that may be ignored.
  init?(_ bytes: [UInt8]) throws(Violation) {
    let header = try FrameHeader(bytes.span)
    guard bytes.count == Limits.frameHeader + header.length else { throw Violation(.truncated, "a frame") }
    let body = Limits.frameHeader..<bytes.count
    switch header.type {
    case .join, .ack, .end: self = .stream(try StreamMessage(header.type, bytes.span, body)!)
    case .data: self = try Self.data(bytes, body)
    default:
      guard let message = try ControlMessage(header.type, bytes.span, body) else { return nil }
      self = .control(message)
    }
  }

  private static func data(_ bytes: [UInt8], _ body: Range<Int>) throws(Violation) -> Frame {
    guard case .data(let header) = try StreamMessage(.data, bytes.span, body) else { fatalError("DATA is DATA") }
    let payload = body.lowerBound + Limits.dataHeader..<body.upperBound
    if header.encoding == .zstd { return .packed(header, Array(bytes[payload])) }
    return .data(header, try pieces(bytes, payload))
  }

  /// All entries in `range`.
  static func pieces(_ bytes: [UInt8], _ range: Range<Int>) throws(Violation) -> [Piece] {
    var reader = EntryReader(range)
    var pieces: [Piece] = []
    while let entry = try reader.next(bytes.span) {
      switch entry {
      case .item(let record, let content):
        pieces.append(.item(record, content.map { Content(check: $0.check, data: Array(bytes[$0.data])) }))
      case .chunk(let place, let check, let data): pieces.append(.chunk(place, check, Array(bytes[data])))
      case .hole(let place, let check): pieces.append(.hole(place, check))
      case .base(let place, let check, let lanes): pieces.append(.base(place, check, lanes))
      }
    }
    return pieces
  }

  /// The whole frame as bytes.
  var bytes: [UInt8] {
    switch self {
    case .early(let frame): return frame.bytes
    case .control(let message): return message.frame
    case .stream(let message): return message.frame()
    case .packed(let header, let payload): return StreamMessage.data(header).frame(payload: payload.count) + payload
    case .data(let header, let pieces):
      let payload = Self.encode(pieces)
      return StreamMessage.data(header).frame(payload: payload.count) + payload
    }
  }

  /// Entries as a frame has them.
  static func encode(_ pieces: [Piece]) -> [UInt8] {
    var writer = ByteWriter()
    for piece in pieces {
      switch piece {
      case .item(let record, let content):
        EntryWriter.item(record, to: &writer)
        guard let content else { continue }
        EntryWriter.content(length: content.data.count, content.check, to: &writer)
        writer.array(content.data)
      case .chunk(let place, let check, let data):
        EntryWriter.place(place, check, to: &writer)
        writer.array(data)
      case .hole(let place, let check): EntryWriter.place(place, check, to: &writer)
      case .base(let place, let check, let lanes): EntryWriter.base(place, check, lanes, to: &writer)
      }
    }
    return writer.bytes
  }

  /// Reads the frame on a data stream instead, where CLOSE may stand too.
  static func onStream(_ bytes: [UInt8]) throws(Violation) -> StreamMessage? {
    let header = try FrameHeader(bytes.span)
    return try StreamMessage(header.type, bytes.span, Limits.frameHeader..<bytes.count)
  }
}
