/// Protocol §6.2: everything that the sender wants to send in a transfer, before any of its data.
package struct Plan: Equatable, Sendable {
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The sender's user wants to keep the pairing.
    package static let keepPairing = Flags(rawValue: 1)
  }

  /// The transfer that is to be continued.
  package let transfer: TransferID?
  /// 1 to 4,096; a part's number is its position.
  package let parts: [Part]
  package let flags: Flags
  private var unknown = Fields()

  package init(_ parts: [Part], continuing transfer: TransferID? = nil, flags: Flags = []) {
    precondition((1...Limits.parts).contains(parts.count), "a plan has parts, and a limit of them")
    self.transfer = transfer
    self.parts = parts
    self.flags = flags
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the plan"
    let fields = try Fields(bytes, range, of: subject)
    transfer = try fields.number(1, subject)
    parts = try fields.readRequired(2, subject) { reader, bytes throws(Violation) in
      try reader.list(of: subject, atMost: Limits.parts) { reader throws(Violation) in
        try Part(bytes, try reader.string(bytes))
      }
    }
    flags = Flags(rawValue: try fields.requiredNumber(3, subject))
    unknown = fields.unknown(besides: 1...3)
    guard parts.reduce(0, { $0 + $1.roots.count }) <= Limits.roots,
      parts.reduce(unknown.length, { $0 + $1.unknownSize }) <= Limits.unknownFields
    else { throw Violation(.limit, subject) }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    if let transfer { fields.append(1) { $0.u128(transfer) } }
    fields.append(2) { writer in
      for part in parts { writer.string(part.write) }
    }
    fields.append(3) { $0.u32(flags.rawValue) }
    fields.write(with: unknown, to: &writer)
  }

  /// Whether a receiver takes so many roots, and all of it in one frame.
  package var fits: Bool {
    var body = ByteWriter()
    write(to: &body)
    return parts.reduce(0) { $0 + $1.roots.count } <= Limits.roots && body.bytes.count <= Limits.frameBody
  }

  /// The plan as a record keeps it: without the values of one session. The fields of later versions
  /// stay, for `continues`.
  package var recorded: Plan {
    var recorded = Plan(parts)
    recorded.unknown = unknown
    return recorded
  }

  /// Whether a later run may continue the plan from these sources. An unknown source cannot be told
  /// from another source in its place.
  package func isContinued(from sources: Set<SourceIdentity>) -> Bool {
    hasLastingSources && sources.isSuperset(of: parts.flatMap(\.sources))
  }

  /// Whether each of its sources can be told from other sources.
  package var hasLastingSources: Bool { !parts.contains { $0.sources.contains(.unknown) } }

  /// The sum of the estimates.
  package var estimate: Tally {
    parts.reduce(Tally()) { $0.adding(Tally(items: $1.items ?? 0, bytes: $1.bytes ?? 0)) }
  }

  /// Whether it continues a transfer that began with another plan: estimates, kinds of roots,
  /// versions of apps and its own flags may differ (Protocol §9.7).
  package func continues(_ first: Plan) -> Bool {
    parts.count == first.parts.count && unknown == first.unknown
      && zip(parts, first.parts).allSatisfy { $0.isSame(as: $1) }
  }
}

extension Fields {
  /// A total, within the limit of a file's size; nil where it is absent.
  func total(_ tag: UInt8, _ subject: String) throws(Violation) -> UInt64? {
    let total: UInt64? = try number(tag, subject)
    guard total ?? 0 <= Limits.fileSize else { throw Violation(.limit, subject) }
    return total
  }
}

extension Fields {
  /// The elements of a list; none where the field is absent.
  func list<Element>(
    _ tag: UInt8, of subject: String, atMost limit: Int = .max,
    ascending isBefore: (Element, Element) -> Bool = { _, _ in true },
    reading read: (inout ByteReader, Span<UInt8>) throws(Violation) -> Element
  ) throws(Violation) -> [Element] {
    let list = try self.read(tag, subject) { reader, bytes throws(Violation) in
      try reader.list(of: subject, atMost: limit, ascending: isBefore) { reader throws(Violation) in
        try read(&reader, bytes)
      }
    }
    return list ?? []
  }
}

extension ByteReader {
  /// Reads names to the end, strings in ascending order of their bytes.
  mutating func names(
    of subject: String, _ bytes: Span<UInt8>, atMost limit: Int, where isValid: (String) -> Bool
  ) throws(Violation) -> [String] {
    try list(
      of: subject, atMost: limit, orNone: true, ascending: { $0.utf8.lexicographicallyPrecedes($1.utf8) },
      reading: { reader throws(Violation) in
        let name = String(validating: try reader.stringBytes(bytes), as: UTF8.self)
        guard let name, isValid(name) else { throw Violation(.value, subject) }
        return name
      })
  }

  /// Reads a list to the end: with `ascending`, its elements in that order.
  mutating func list<Element>(
    of subject: String, atMost limit: Int = .max, orNone: Bool = false,
    ascending isBefore: (Element, Element) -> Bool = { _, _ in true },
    reading read: (inout ByteReader) throws(Violation) -> Element
  ) throws(Violation) -> [Element] {
    guard orNone || !isAtEnd else { throw Violation(.value, subject) }
    var list: [Element] = []
    while !isAtEnd {
      let element = try read(&self)
      guard list.last.map({ isBefore($0, element) }) ?? true else { throw Violation(.value, subject) }
      guard list.count < limit else { throw Violation(.limit, subject) }
      list.append(element)
    }
    return list
  }
}

extension ByteWriter {
  /// Writes names as strings.
  mutating func names(_ names: [String]) { for name in names { string(Array(name.utf8)) } }

  /// Writes a string whose bytes `write` writes.
  mutating func string(_ write: (inout ByteWriter) -> Void) {
    var body = ByteWriter()
    write(&body)
    string(body.bytes)
  }
}
