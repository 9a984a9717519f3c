/// Protocol §6.2: the receiver's judgement of a plan.
package struct Verdict: Equatable, Sendable {
  /// The judgement of one part.
  package enum Judgement: Equatable, Sendable {
    /// The roots that are left out, ascending.
    case taken(without: [RefusedRoot] = [])
    case refused(Close)
    /// An earlier session has finished it.
    case finished
  }

  package struct RefusedRoot: Equatable, Sendable {
    /// Its position among the roots of the part.
    package let root: UInt32
    package let code: Close.Code

    package init(root: UInt32, code: Close.Code) {
      self.root = root
      self.code = code
    }
  }

  /// The same for the life of the transfer.
  package let transfer: TransferID
  package let session: SessionID
  /// The number of bytes of DATA bodies that may be unacknowledged.
  package let window: UInt64
  /// The number of data streams that may be joined at a time.
  package let streams: UInt16
  /// One for each part of the plan.
  package let parts: [Judgement]
  /// `keepPairing`: the receiver keeps it too.
  package let flags: Plan.Flags
  private var unknown = Fields()
  /// Of the parts that are not refused, by their numbers; a refusal has its own.
  private var unknownOfParts: [Int: Fields] = [:]

  package init(
    transfer: TransferID, session: SessionID, window: UInt64, streams: UInt16, parts: [Judgement],
    flags: Plan.Flags = []
  ) {
    self.transfer = transfer
    self.session = session
    self.window = window
    self.streams = streams
    self.parts = parts
    self.flags = flags
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the verdict"
    let fields = try Fields(bytes, range, of: subject)
    transfer = try fields.requiredNumber(1, subject)
    session = try fields.requiredNumber(2, subject)
    window = try fields.requiredNumber(3, subject)
    streams = try fields.requiredNumber(4, subject)
    let judged = try fields.readRequired(5, subject) { reader, bytes throws(Violation) in
      try reader.list(of: subject, atMost: Limits.parts) { reader throws(Violation) in
        try Self.part(bytes, try reader.string(bytes))
      }
    }
    parts = judged.map(\.part)
    for (number, part) in judged.enumerated() where part.unknown != Fields() { unknownOfParts[number] = part.unknown }
    flags = Plan.Flags(rawValue: try fields.requiredNumber(6, subject))
    unknown = fields.unknown(besides: 1...6)
    guard window >= Limits.smallestWindow, (1...Limits.streams).contains(Int(streams)) else {
      throw Violation(.value, subject)
    }
  }

  private static let (taken, finished): (UInt16, UInt16) = (0, 0xFFFF)
  /// The bytes that all refusals may take in a frame: it may have 65,535 roots that are left out, too.
  package static let room = 800_000

  private static func part(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) throws(Violation) -> (part: Judgement, unknown: Fields) {
    let subject = "the verdict of a part"
    let fields = try Fields(bytes, range, of: subject)
    let code: UInt16 = try fields.requiredNumber(1, subject)
    let isBare = fields.unknown(besides: [1, 9]).all.allSatisfy { $0.tag > 10 }
    switch code {
    case taken, finished:
      let without = try fields.list(
        9, of: "the roots that are left out", ascending: { $0.root < $1.root },
        reading: { reader, bytes throws(Violation) in
          RefusedRoot(root: try reader.u32(bytes), code: Close.Code(rawValue: try reader.u16(bytes)))
        })
      guard isBare, code == taken || without.isEmpty else { throw Violation(.field, subject) }
      return (code == taken ? .taken(without: without) : .finished, fields.unknown(besides: 1...10))
    default:
      guard fields.value(9) == nil else { throw Violation(.field, subject) }
      return (.refused(try Close(fields, subject)), Fields())
    }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1) { $0.u128(transfer) }
    fields.append(2) { $0.u128(session) }
    fields.append(3) { $0.u64(window) }
    fields.append(4) { $0.u16(streams) }
    fields.append(5) { writer in
      for (number, part) in parts.enumerated() {
        writer.string { Self.write(part, with: unknownOfParts[number] ?? Fields(), to: &$0) }
      }
    }
    fields.append(6) { $0.u32(flags.rawValue) }
    fields.write(with: unknown, to: &writer)
  }

  private static func write(_ part: Judgement, with unknown: Fields, to writer: inout ByteWriter) {
    var fields = Fields()
    switch part {
    case .taken(let without):
      fields.append(1) { $0.u16(taken) }
      if !without.isEmpty {
        fields.append(9) { writer in
          for one in without {
            writer.u32(one.root)
            writer.u16(one.code.rawValue)
          }
        }
      }
    case .finished: fields.append(1) { $0.u16(finished) }
    case .refused(let close): return close.write(to: &writer)
    }
    fields.write(with: unknown, to: &writer)
  }

  /// Fails if it does not judge a plan.
  func check(against plan: Plan) throws(Violation) {
    let subject = "the verdict"
    guard parts.count == plan.parts.count else { throw Violation(.conflict, subject) }
    if let continued = plan.transfer, continued != transfer { throw Violation(.conflict, subject) }
    guard plan.flags.contains(.keepPairing) || !flags.contains(.keepPairing) else {
      throw Violation(.conflict, subject)
    }
    if plan.transfer == nil, parts.contains(.finished) { throw Violation(.conflict, subject) }
    for case (.taken(let without), let part) in zip(parts, plan.parts) where !without.isEmpty {
      // One root at least remains.
      guard without.count < part.roots.count, without.allSatisfy({ $0.root < part.roots.count }) else {
        throw Violation(.value, subject)
      }
    }
  }
}
