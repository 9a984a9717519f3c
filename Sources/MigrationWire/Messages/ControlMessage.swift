/// Everything that is said on the control connection (Protocol §6).
package enum ControlMessage: Equatable, Sendable {
  case greeting(Greeting)
  case offer(Offer)
  case accept(Accept)
  case held(Held)
  case partial(Partial)
  case heldEnd(HeldEnd)
  case drop(Drop)
  case unsent(Unsent)
  case finish(Finish)
  case progress(ImportProgress)
  case done(Done)
  case receipt
  case refused(Refusal)
  case ping(UInt64)
  case pong(UInt64)
  case close(Close)

  /// Reads the body of a frame; nil for a frame of a later version that may be ignored.
  package init?(_ type: FrameType, _ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    switch type {
    case .greeting: self = .greeting(try Greeting(bytes, range))
    case .offer: self = .offer(try Offer(bytes, range))
    case .accept: self = .accept(try Accept(bytes, range))
    case .held: self = .held(try Held(bytes, range))
    case .partial: self = .partial(try Partial(bytes, range))
    case .heldEnd: self = .heldEnd(try HeldEnd(bytes, range))
    case .drop: self = .drop(try Drop(bytes, range))
    case .unsent: self = .unsent(try Unsent(bytes, range))
    case .finish: self = .finish(try Finish(bytes, range))
    case .progress: self = .progress(try ImportProgress(bytes, range))
    case .done: self = .done(try Done(bytes, range))
    case .receipt:
      try ByteReader(range, of: "the receipt").finish()
      self = .receipt
    case .refused: self = .refused(try Refusal(bytes, range))
    case .ping: self = .ping(try Self.token(bytes, range))
    case .pong: self = .pong(try Self.token(bytes, range))
    case .close: self = .close(try Close(bytes, range))
    case let type where type.mayBeIgnored: return nil
    case .join, .data, .ack, .end: throw Violation(.state, "a data frame on the control connection")
    default: throw Violation(.unknown, "a frame")
    }
  }

  /// Which frame carries it.
  package var type: FrameType {
    switch self {
    case .greeting: .greeting
    case .offer: .offer
    case .accept: .accept
    case .held: .held
    case .partial: .partial
    case .heldEnd: .heldEnd
    case .drop: .drop
    case .unsent: .unsent
    case .finish: .finish
    case .progress: .progress
    case .done: .done
    case .receipt: .receipt
    case .refused: .refused
    case .ping: .ping
    case .pong: .pong
    case .close: .close
    }
  }

  /// The whole frame, header included.
  package var frame: [UInt8] {
    var body = ByteWriter()
    switch self {
    case .greeting(let message): message.write(to: &body)
    case .offer(let message): message.write(to: &body)
    case .accept(let message): message.write(to: &body)
    case .held(let message): message.write(to: &body)
    case .partial(let message): message.write(to: &body)
    case .heldEnd(let message): message.write(to: &body)
    case .drop(let message): message.write(to: &body)
    case .unsent(let message): message.write(to: &body)
    case .finish(let message): message.write(to: &body)
    case .progress(let message): message.write(to: &body)
    case .done(let message): message.write(to: &body)
    case .receipt: break
    case .refused(let message): message.write(to: &body)
    case .ping(let token), .pong(let token): body.u64(token)
    case .close(let message): message.write(to: &body)
    }
    var frame = ByteWriter()
    FrameHeader(type: type, length: body.bytes.count).write(to: &frame)
    frame.array(body.bytes)
    return frame.bytes
  }

  private static func token(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) -> UInt64 {
    var reader = ByteReader(range, of: "a ping")
    let token = try reader.u64(bytes)
    try reader.finish()
    return token
  }
}
