import MigrationEngine
import MigrationTLS
import MigrationWire

/// The file of a remembered transfer.
extension TransferRecord {
  private static let magic = Array("peer transfer 3\n".utf8)
  /// The magics of programs of version 2 of the protocol, and of version 1, whose records are not read.
  private static let (version2, version1) = (Array("peer transfer 2\n".utf8), Array("peer transfer 1\n".utf8))
  private static let subject = "a remembered transfer"
  /// The most bytes of a record's file.
  static let sizeLimit = 64 << 20
  /// The most bytes of a record's parts. If the parts have more, the earliest parts lose the names
  /// of their items and keep the numbers.
  private static let partsLimit = 48 << 20

  /// The plan and the parts of one transfer as they are in its file. A plan of a thousand parts is
  /// written a thousand times, each time with another part changed.
  struct Pieces: Sendable {
    fileprivate var plan: [UInt8]?
    fileprivate var parts: [(part: PartRecord, bytes: [UInt8])] = []
  }

  /// The whole file.
  var encoded: [UInt8] {
    var pieces = Pieces()
    return encoded(&pieces)
  }

  /// The same; pieces of an earlier state are made again only where they have changed.
  func encoded(_ pieces: inout Pieces) -> [UInt8] {
    if pieces.plan == nil { pieces.plan = ControlMessage.plan(plan).frame }
    for (number, part) in parts.enumerated() {
      if number == pieces.parts.count {
        pieces.parts.append((part, part.encoded))
      } else if pieces.parts[number].part != part {
        pieces.parts[number] = (part, part.encoded)
      }
    }
    var size = pieces.parts.reduce(0) { $0 + $1.bytes.count }
    for number in pieces.parts.indices where size > Self.partsLimit {
      let bare = pieces.parts[number].part.withoutNames.encoded
      size -= pieces.parts[number].bytes.count - bare.count
      pieces.parts[number].bytes = bare
    }
    return RecordFile.encode(fields(pieces), magic: Self.magic)
  }

  private func fields(_ pieces: Pieces) -> Fields {
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
    case .sources(let sources): fields.append(9, list: sources)
    case .destination(let path, let port):
      fields.append(10, path)
      fields.append(11) { $0.u16(port) }
    }
    fields.append(12) { $0.u16(newest) }
    fields.append(13, pieces.plan ?? [])
    fields.append(14, list: pieces.parts.map(\.bytes))
    if let meeting { fields.append(15, meeting) }
    if consent != Consent() { fields.append(16, consent.encoded) }
    return fields
  }

  /// Whether a program of an older version wrote the file: its transfer cannot be continued.
  static func isOlder(_ file: [UInt8]) -> Bool { file.starts(with: version2) || file.starts(with: version1) }

  /// Whether a program wrote the file whose format this one does not know.
  static func isNewer(_ file: [UInt8]) -> Bool {
    let common = magic.dropLast(2)
    let format = file.dropFirst(common.count).prefix(8).prefix { $0 != UInt8(ascii: "\n") }
    guard file.starts(with: common), let number = Int(String(decoding: format, as: UTF8.self)) else { return false }
    return number > 3
  }

  /// Reads a whole file, also one of version 2. A damaged or foreign file is a violation.
  init(encoded bytes: [UInt8]) throws(Violation) {
    let subject = Self.subject
    let (fields, format) = try RecordFile.decode(bytes, magics: [Self.magic, Self.version2], of: subject)
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
    case .sender: self.subject = .sources(try fields.list(9, subject))
    case .receiver:
      let port = try fields.readRequired(11, subject) { reader, bytes throws(Violation) in try reader.u16(bytes) }
      self.subject = .destination(try fields.required(10, subject), port: port)
    }
    newest = try fields.readRequired(12, subject) { reader, bytes throws(Violation) in try reader.u16(bytes) }
    parts = []
    for bytes in try fields.list(14, subject) {
      parts.append(try PartRecord(try Fields(bytes.span, 0..<bytes.count, of: subject)))
    }
    meeting = try fields.meetingSecret(15, subject)
    consent = try fields.value(16).map { bytes throws(Violation) in try Consent(encoded: bytes) } ?? Consent()
    if format == 1 {
      guard (1...Limits.parts).contains(parts.count) else { throw Violation(.value, subject) }
      plan = Plan(Array(repeating: Part(.unknown(0), name: "?"), count: parts.count))
    } else {
      guard case .plan(let plan)? = try Self.message(try fields.required(13, subject)) else {
        throw Violation(.value, subject)
      }
      self.plan = plan
    }
    guard parts.count == plan.parts.count, newest < parts.count else { throw Violation(.conflict, subject) }
  }

  fileprivate static func message(_ frame: [UInt8]) throws(Violation) -> ControlMessage? {
    guard frame.count >= Limits.frameHeader else { throw Violation(.truncated, "a remembered message") }
    let header = try FrameHeader(frame.span.extracting(first: Limits.frameHeader))
    guard header.length == frame.count - Limits.frameHeader else { throw Violation(.truncated, "a remembered message") }
    return try ControlMessage(header.type, frame.span, Limits.frameHeader..<frame.count)
  }
}

extension PartRecord {
  private static let subject = "a part of a remembered transfer"

  /// The same without the names of items.
  fileprivate var withoutNames: Self {
    var part = self
    part.notStored = []
    part.finished = finished.map { finished in
      let done = finished.done
      return Finished(
        done: Done(
          total: done.total, losses: done.losses, notStored: done.notStored, count: done.renamed, removed: done.removed),
        at: finished.at)
    }
    return part
  }

  fileprivate var encoded: [UInt8] {
    var fields = Fields()
    if let begun {
      fields.append(1) { $0.u128(begun.keys.hashKey) }
      fields.append(2, ControlMessage.offer(begun.totals).frame)
    }
    if isConcluded { fields.append(3, [1]) }
    if unsent > 0 { fields.append(4) { $0.u64(unsent) } }
    if !notStored.isEmpty { fields.append(6, list: notStored.map { ControlMessage.notStored($0).frame }) }
    if let finished {
      fields.append(7) { $0.u64(UInt64(bitPattern: finished.at)) }
      fields.append(8, ControlMessage.done(finished.done).frame)
    }
    if let elsewhere = begun?.elsewhere { fields.append(9, elsewhere) }
    if let folder = begun?.folder { fields.append(11, folder.bytes) }
    if refusedRoots > 0 { fields.append(12) { $0.u64(refusedRoots) } }
    if let taken = begun?.taken, taken != .all { fields.append(13, [taken.rawValue]) }
    return fields.bytes
  }

  fileprivate init(_ fields: Fields) throws(Violation) {
    let subject = Self.subject
    self.init()
    if let frame = fields.value(2) {
      guard case .offer(let totals)? = try TransferRecord.message(frame) else { throw Violation(.value, subject) }
      let key = try fields.readRequired(1, subject) { reader, bytes throws(Violation) in try reader.u128(bytes) }
      begun = Begun(keys: TransferKeys(hashKey: key), totals: totals, elsewhere: fields.value(9))
      begun?.taken = ArrivalClasses(rawValue: try fields.number(13, subject) ?? ArrivalClasses.all.rawValue)
      begun?.folder = try fields.value(11).map { bytes throws(Violation) in try ArchivePath(bytes) }
    }
    isConcluded = fields.value(3) != nil
    unsent = try fields.number(4, subject) ?? 0
    refusedRoots = try fields.number(12, subject) ?? 0
    for frame in fields.value(6) == nil ? [] : try fields.list(6, subject) {
      guard case .notStored(let item)? = try TransferRecord.message(frame) else {
        throw Violation(.value, subject)
      }
      notStored.append(item)
    }
    if let frame = fields.value(8) {
      guard case .done(let done)? = try TransferRecord.message(frame) else { throw Violation(.value, subject) }
      let at: UInt64 = try fields.requiredNumber(7, subject)
      finished = Finished(done: done, at: Int64(bitPattern: at))
    }
  }
}

extension Fields {
  /// The secret of a pairing, if it is here.
  func meetingSecret(_ tag: UInt8, _ subject: String) throws(Violation) -> [UInt8]? {
    guard let secret = value(tag) else { return nil }
    guard secret.count == RelayMeeting.secretSize else { throw Violation(.value, subject) }
    return secret
  }

  /// Adds a list. Each element has its length in front.
  mutating func append(_ tag: UInt8, list: [[UInt8]]) {
    append(tag) { writer in
      for element in list {
        writer.u32(UInt32(element.count))
        writer.array(element)
      }
    }
  }

  /// Reads such a list.
  func list(_ tag: UInt8, _ subject: String) throws(Violation) -> [[UInt8]] {
    try readRequired(tag, subject) { reader, bytes throws(Violation) in
      var list: [[UInt8]] = []
      while !reader.isAtEnd { list.append(try reader.array(bytes, Int(try reader.u32(bytes)))) }
      return list
    }
  }
}
