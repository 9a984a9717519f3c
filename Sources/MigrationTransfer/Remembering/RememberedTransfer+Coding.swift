import MigrationTLS
import MigrationWire

/// The file of a remembered transfer: a line that names the format, fields as in Protocol §5, and a
/// checksum.
///
/// The checksum finds damage, not forgery: a program that can write the file can read the keys in
/// it.
extension RememberedTransfer {
  private static let magic = Array("peer transfer 2\n".utf8)
  /// That of a program of version 1 of the protocol.
  private static let olderMagic = Array("peer transfer 1\n".utf8)
  private static let subject = "a remembered transfer"
  private static let checksum = 16
  /// Far more than any record has.
  static let sizeLimit = 64 << 20

  /// The whole file.
  var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.array(Self.magic)
    fields.write(to: &writer)
    writer.u128(Self.code(writer.bytes))
    return writer.bytes
  }

  private static func code(_ bytes: [UInt8]) -> UInt128 {
    var hash = SipHash(key: 0)
    hash.combine(bytes)
    return hash.finish()
  }

  private var fields: Fields {
    var fields = Fields()
    fields.append(1) { $0.u128(transfer) }
    fields.append(2, [role.rawValue])
    fields.append(3, identity)
    fields.append(4, peer.bytes)
    fields.append(5, Array(label.utf8))
    fields.append(6, Array(address.utf8))
    fields.append(7) { writer in
      writer.u64(UInt64(bitPattern: started))
      writer.u64(UInt64(bitPattern: lastSeen))
    }
    fields.append(8) { writer in
      for number in [total.items, total.bytes, held.items, held.bytes] { writer.u64(number) }
    }
    switch subject {
    case .sources(let sources):
      fields.append(9) { writer in
        for path in sources {
          writer.u32(UInt32(path.count))
          writer.array(path)
        }
      }
    case .destination(let destination):
      fields.append(10, destination.path)
      fields.append(11) { $0.u16(destination.port) }
      fields.append(12) { writer in
        writer.u128(destination.keys.hashKey)
      }
      fields.append(13, Array(ControlMessage.offer(destination.offer).frame))
    }
    if let done {
      fields.append(14) { $0.u64(UInt64(bitPattern: done.at)) }
      fields.append(15, ControlMessage.done(done.done).frame)
    }
    fields.append(16) { $0.u64(unsent) }
    if withheld > 0 { fields.append(17) { $0.u64(withheld) } }
    if !notStored.isEmpty {
      fields.append(18) { writer in
        for frame in notStored.map({ ControlMessage.refused($0).frame }) {
          writer.u32(UInt32(frame.count))
          writer.array(frame)
        }
      }
    }
    return fields
  }

  /// Whether a program of version 1 wrote the file: its transfer cannot be continued.
  static func isOlder(_ file: [UInt8]) -> Bool { file.starts(with: olderMagic) }

  /// Reads a whole file, also one of version 1. A damaged or foreign file is a violation.
  init(encoded bytes: [UInt8]) throws(Violation) {
    let body = Self.magic.count..<max(Self.magic.count, bytes.count - Self.checksum)
    guard bytes.count >= Self.magic.count + Self.checksum, bytes.starts(with: Self.magic) || Self.isOlder(bytes) else {
      throw Violation(.unknown, Self.subject)
    }
    var reader = ByteReader(body.upperBound..<bytes.count, of: Self.subject)
    guard try reader.u128(bytes.span) == Self.code(Array(bytes[..<body.upperBound])) else {
      throw Violation(.check, Self.subject)
    }
    try self.init(try Fields(bytes.span, body, of: Self.subject))
  }

  private init(_ fields: Fields) throws(Violation) {
    let subject = Self.subject
    transfer = try fields.readRequired(1, subject) { reader, bytes throws(Violation) in try reader.u128(bytes) }
    let role = try fields.readRequired(2, subject) { reader, bytes throws(Violation) in try reader.u8(bytes) }
    guard let role = Role(rawValue: role) else { throw Violation(.unknown, subject) }
    self.role = role
    identity = try fields.required(3, subject)
    guard let peer = KeyFingerprint(bytes: try fields.required(4, subject)) else { throw Violation(.value, subject) }
    self.peer = peer
    label = try fields.text(5, limit: Limits.label, subject)
    address = try fields.text(6, limit: Limits.message, subject)
    (started, lastSeen) = try fields.readRequired(7, subject) { reader, bytes throws(Violation) in
      (Int64(bitPattern: try reader.u64(bytes)), Int64(bitPattern: try reader.u64(bytes)))
    }
    (total, held) = try fields.readRequired(8, subject) { reader, bytes throws(Violation) in
      (
        Tally(items: try reader.u64(bytes), bytes: try reader.u64(bytes)),
        Tally(items: try reader.u64(bytes), bytes: try reader.u64(bytes))
      )
    }
    switch role {
    case .sender: self.subject = .sources(try Self.sources(fields))
    case .receiver: self.subject = .destination(try Destination(fields))
    }
    unsent = try fields.readRequired(16, subject) { reader, bytes throws(Violation) in try reader.u64(bytes) }
    withheld = try fields.read(17, subject) { reader, bytes throws(Violation) in try reader.u64(bytes) } ?? 0
    notStored = try Self.refusals(fields)
    done = try Self.finished(fields)
  }

  private static func finished(_ fields: Fields) throws(Violation) -> Finished? {
    guard let frame = fields.value(15) else { return nil }
    guard case .done(let done)? = try message(frame) else { throw Violation(.value, subject) }
    return Finished(
      done: done,
      at: try fields.readRequired(14, subject) { reader, bytes throws(Violation) in
        Int64(bitPattern: try reader.u64(bytes))
      })
  }

  fileprivate static func message(_ frame: [UInt8]) throws(Violation) -> ControlMessage? {
    guard frame.count >= Limits.frameHeader else { throw Violation(.truncated, "a remembered message") }
    let header = try FrameHeader(frame.span.extracting(first: Limits.frameHeader))
    guard header.length == frame.count - Limits.frameHeader else { throw Violation(.truncated, "a remembered message") }
    return try ControlMessage(header.type, frame.span, Limits.frameHeader..<frame.count)
  }

  private static func refusals(_ fields: Fields) throws(Violation) -> [Refusal] {
    let refusals = try fields.read(18, subject) { reader, bytes throws(Violation) in
      var refusals: [Refusal] = []
      while !reader.isAtEnd {
        let frame = try reader.array(bytes, Int(try reader.u32(bytes)))
        guard case .refused(let refusal)? = try message(frame) else { throw Violation(.value, subject) }
        refusals.append(refusal)
      }
      return refusals
    }
    return refusals ?? []
  }

  private static func sources(_ fields: Fields) throws(Violation) -> [[UInt8]] {
    try fields.readRequired(9, subject) { reader, bytes throws(Violation) in
      var sources: [[UInt8]] = []
      while !reader.isAtEnd { sources.append(try reader.array(bytes, Int(try reader.u32(bytes)))) }
      return sources
    }
  }
}

extension RememberedTransfer.Destination {
  fileprivate init(_ fields: Fields) throws(Violation) {
    let subject = "a remembered destination"
    path = try fields.required(10, subject)
    port = try fields.readRequired(11, subject) { reader, bytes throws(Violation) in try reader.u16(bytes) }
    keys = try fields.readRequired(12, subject) { reader, bytes throws(Violation) in
      // Version 1 had another key in front of it.
      if reader.remaining > 16 { _ = try reader.u128(bytes) }
      return TransferKeys(hashKey: try reader.u128(bytes))
    }
    guard case .offer(let offer)? = try RememberedTransfer.message(try fields.required(13, subject)) else {
      throw Violation(.value, subject)
    }
    self.offer = offer
  }
}
