/// A message on the control connection (Protocol §6).
package enum ControlMessage: Equatable, Sendable {
  case greeting(Greeting)
  case plan(Plan)
  case verdict(Verdict)
  case offer(PartTotals)
  case accept(Accept)
  case held(Held)
  case partial(Partial)
  case heldEnd(HeldEnd)
  /// Protocol §6.5: marks, strictly ascending, of held items that the source no longer has in that generation.
  case drop([Mark])
  case notStored(NotStored)
  case finish(Finish)
  case progress(ImportProgress)
  case done(Done)
  case receipt
  case failed(Failed)
  case ping(UInt64)
  case pong(UInt64)
  case close(Close)
  case addresses(Addresses)

  /// Reads the body of a frame; nil for a frame of a later version that may be ignored.
  package init?(_ type: FrameType, _ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    switch type {
    case .greeting: self = .greeting(try Greeting(bytes, range))
    case .plan: self = .plan(try Plan(bytes, range))
    case .verdict: self = .verdict(try Verdict(bytes, range))
    case .offer: self = .offer(try PartTotals(bytes, range))
    case .accept: self = .accept(try Accept(bytes, range))
    case .held: self = .held(try Held(bytes, range))
    case .partial: self = .partial(try Partial(bytes, range))
    case .heldEnd: self = .heldEnd(try HeldEnd(bytes, range))
    case .drop:
      var reader = ByteReader(range, of: "a list of dropped items")
      self = .drop(try reader.marks(bytes, "a list of dropped items"))
    case .notStored: self = .notStored(try NotStored(bytes, range))
    case .finish: self = .finish(try Finish(bytes, range))
    case .progress: self = .progress(try ImportProgress(bytes, range))
    case .done: self = .done(try Done(bytes, range))
    case .receipt:
      try ByteReader(range, of: "the receipt").finish()
      self = .receipt
    case .failed: self = .failed(try Failed(bytes, range))
    case .ping: self = .ping(try Self.token(bytes, range))
    case .pong: self = .pong(try Self.token(bytes, range))
    case .close: self = .close(try Close(bytes, range))
    case .addresses: self = .addresses(try Addresses(bytes, range))
    case let type where type.mayBeIgnored: return nil
    case .join, .data, .ack, .end: throw Violation(.state, "a data frame on the control connection")
    default: throw Violation(.unknown, "a frame")
    }
  }

  /// The type of its frame.
  package var type: FrameType { parts.type }

  private var parts: (type: FrameType, write: (inout ByteWriter) -> Void) {
    switch self {
    case .greeting(let message): (.greeting, message.write)
    case .plan(let message): (.plan, message.write)
    case .verdict(let message): (.verdict, message.write)
    case .offer(let message): (.offer, message.write)
    case .accept(let message): (.accept, message.write)
    case .held(let message): (.held, message.write)
    case .partial(let message): (.partial, message.write)
    case .heldEnd(let message): (.heldEnd, message.write)
    case .drop(let marks): (.drop, { writer in for mark in marks { writer.u128(mark) } })
    case .notStored(let message): (.notStored, message.write)
    case .finish(let message): (.finish, message.write)
    case .progress(let message): (.progress, message.write)
    case .done(let message): (.done, message.write)
    case .receipt: (.receipt, { _ in })
    case .failed(let message): (.failed, message.write)
    case .ping(let token): (.ping, { $0.u64(token) })
    case .pong(let token): (.pong, { $0.u64(token) })
    case .close(let message): (.close, message.write)
    case .addresses(let message): (.addresses, message.write)
    }
  }

  /// The whole frame, header included.
  package var frame: [UInt8] {
    let (type, write) = parts
    var body = ByteWriter()
    write(&body)
    return FrameHeader.frame(type, body.bytes)
  }

  private static func token(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) -> UInt64 {
    var reader = ByteReader(range, of: "a ping")
    let token = try reader.u64(bytes)
    try reader.finish()
    return token
  }
}
