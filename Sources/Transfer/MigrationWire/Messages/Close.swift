/// Protocol §6.7: why an end stops before the transfer is done; in a verdict and in FAILED, why a
/// part is not taken or has failed.
package struct Close: Equatable, Sendable {
  /// The reason (Protocol §10); the other end may have reasons that this one does not know.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Stands for every code that this end does not know, too.
    package static let other = Code(rawValue: 1)
    package static let interrupted = Code(rawValue: 2)
    package static let violation = Code(rawValue: 3)
    package static let version = Code(rawValue: 4)
    package static let refused = Code(rawValue: 5)
    package static let exists = Code(rawValue: 6)
    package static let noSpace = Code(rawValue: 7)
    package static let unfit = Code(rawValue: 8)
    package static let storage = Code(rawValue: 9)
    package static let importFailed = Code(rawValue: 10)
    package static let exportFailed = Code(rawValue: 11)
    package static let unknownTransfer = Code(rawValue: 12)
    package static let superseded = Code(rawValue: 13)
    package static let announcement = Code(rawValue: 14)
    package static let otherApp = Code(rawValue: 15)
    package static let silent = Code(rawValue: 16)
    package static let unknownKind = Code(rawValue: 17)
    package static let notInstalled = Code(rawValue: 18)
    package static let appInUse = Code(rawValue: 19)
    package static let takenAlready = Code(rawValue: 20)
    package static let notAllowed = Code(rawValue: 21)
    /// The items that arrived earlier were changed there, and the source has nothing newer.
    package static let nothingNewer = Code(rawValue: 22)

    /// Whether the code, with a cause and values, says all. Otherwise a message has the details:
    /// the words of an app, or the broken rule of the protocol.
    package var isWorded: Bool {
      switch self {
      case .other, .violation, .importFailed, .exportFailed, .announcement: false
      default: rawValue <= Self.nothingNewer.rawValue
      }
    }
  }

  /// The cause, if the code alone does not tell it (Protocol §10.1). Each end has its own words for
  /// it. The other end may have causes that this end does not know.
  package struct Cause: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let otherKey = Cause(rawValue: 1)
    package static let tooManyTransfers = Cause(rawValue: 2)
    package static let leftOut = Cause(rawValue: 3)
    package static let secret = Cause(rawValue: 4)
    package static let mayRun = Cause(rawValue: 5)
    package static let recordsFull = Cause(rawValue: 6)
    package static let inUse = Cause(rawValue: 7)
    package static let collision = Cause(rawValue: 8)
    package static let descriptors = Cause(rawValue: 9)
    package static let cancelled = Cause(rawValue: 10)
    package static let unreadable = Cause(rawValue: 11)
    package static let forgotten = Cause(rawValue: 12)
    package static let idle = Cause(rawValue: 13)
    package static let reserved = Cause(rawValue: 14)
    package static let elsewhere = Cause(rawValue: 15)
    package static let ending = Cause(rawValue: 16)
    package static let appHasData = Cause(rawValue: 17)
    package static let tooMuch = Cause(rawValue: 18)
    package static let outgrown = Cause(rawValue: 19)
  }

  /// The needed and the available room.
  package struct Space: Equatable, Sendable {
    package let needed: UInt64
    package let available: UInt64

    package init(needed: UInt64, available: UInt64) {
      self.needed = needed
      self.available = available
    }
  }

  package let code: Code
  package let cause: Cause?
  /// A lower-case clause for the developers of the other end, which shows it only where it has no
  /// words of its own; empty for none.
  package let message: String
  /// The entry that the message is about.
  package let name: [UInt8]?
  /// Room for bytes; nil unless both figures are known.
  package let bytes: Space?
  /// Room for items; nil unless both figures are known.
  package let items: Space?
  /// The error of the system that is the cause, by Linux's number.
  package let error: UInt16?
  private(set) var unknown = Fields()

  package init(
    _ code: Code, _ message: String = "", for cause: Cause? = nil, name: [UInt8]? = nil, bytes: Space? = nil,
    items: Space? = nil, error: UInt16? = nil
  ) {
    self.code = code
    self.cause = cause
    self.message = Self.cut(message, Limits.message)
    self.name = name
    self.bytes = bytes
    self.items = items
    self.error = error
  }

  /// The message to the end that broke the protocol.
  package init(_ violation: Violation) {
    let code: Code = violation.code == .announcement ? .announcement : .violation
    self.init(code, violation.description)
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the closing message"
    try self.init(try Fields(bytes, range, of: subject), subject)
  }

  /// Reads the fields of a message that has others too.
  init(_ fields: Fields, _ subject: String, besides others: [UInt8] = []) throws(Violation) {
    code = Code(rawValue: try fields.requiredNumber(1, subject))
    let message = try fields.optionalText(2, limit: Limits.message, subject)
    self.message = message ?? ""
    cause = (try fields.number(3, subject)).map(Cause.init)
    error = try fields.number(10, subject)
    guard message != "", cause?.rawValue != 0, error != 0 else { throw Violation(.value, subject) }
    name = fields.value(4)
    if let name, name.count > Limits.path { throw Violation(.limit, subject) }
    self.bytes = try Self.space(fields, 5, subject)
    items = try Self.space(fields, 7, subject)
    // A single figure of a pair stays among the unknown fields.
    let known: [UInt8] = [1, 2, 3, 4, 10] + (self.bytes == nil ? [] : [5, 6]) + (items == nil ? [] : [7, 8]) + others
    unknown = fields.unknown(besides: known)
  }

  private static func space(_ fields: Fields, _ tag: UInt8, _ subject: String) throws(Violation) -> Space? {
    let needed: UInt64? = try fields.number(tag, subject)
    let available: UInt64? = try fields.number(tag + 1, subject)
    guard let needed, let available else { return nil }
    return Space(needed: needed, available: available)
  }

  /// Shortens a text to its limit without splitting a character.
  private static func cut(_ text: String, _ limit: Int) -> String {
    var text = text
    while text.utf8.count > limit { text.removeLast() }
    return text
  }

  /// The same about an entry of another name.
  package func named(_ name: [UInt8]) -> Close {
    var close = Close(code, message, for: cause, name: name, bytes: bytes, items: items, error: error)
    close.unknown = unknown
    return close
  }

  /// The same reason in about so many bytes.
  package func shortened(to room: Int) -> Close {
    if fields().length <= room { return self }
    return Close(code, Self.cut(message, max(0, room - 56)), for: cause, bytes: bytes, items: items, error: error)
  }

  func write(to writer: inout ByteWriter) { fields().write(with: unknown, to: &writer) }

  /// All known fields, besides others.
  func fields(with others: Fields = Fields()) -> Fields {
    var fields = Fields()
    fields.append(1) { $0.u16(code.rawValue) }
    if !message.isEmpty { fields.append(2, Array(message.utf8)) }
    if let cause { fields.append(3) { $0.u16(cause.rawValue) } }
    if let name { fields.append(4, name) }
    for (tag, space) in [(5 as UInt8, bytes), (7, items)] {
      guard let space else { continue }
      fields.append(tag) { $0.u64(space.needed) }
      fields.append(tag + 1) { $0.u64(space.available) }
    }
    for other in others.all { fields.append(other.tag, other.value) }
    if let error { fields.append(10) { $0.u16(error) } }
    return fields
  }
}

extension Close.Space {
  /// Both figures as sizes for people, or as exact numbers if the sizes would be equal.
  package var sizes: (needed: String, available: String) {
    let sizes = (Figures.size(needed), Figures.size(available))
    guard sizes.0 == sizes.1 else { return sizes }
    return ("\(Figures.count(needed)) bytes", "\(Figures.count(available)) bytes")
  }

  /// Both figures as counts of file system entries.
  package var entries: (needed: String, available: String) {
    ("\(Figures.count(needed)) file system entries", Figures.count(available))
  }

  /// The size of a transfer and the most that the receiver's user takes, as a clause. Equal figures
  /// mean that more came than the user takes, and that the whole size is unknown.
  package var exceeded: String {
    guard isShort else {
      return "the session exceeds \(Figures.size(available)), the most that the receiver takes (--max-size)"
    }
    return "the transfer has \(sizes.needed), and the receiver takes at most \(sizes.available) (--max-size)"
  }

  /// Whether there is less than is needed.
  package var isShort: Bool { needed > available }

  /// The hint for a destination that lacks only file system entries.
  package static let entriesHint = DataHint.noEntriesLeft.text
}
