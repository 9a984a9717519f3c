/// Protocol §6.7: the last message of an end that stops before the transfer is done.
package struct Close: Error, Equatable, Sendable {
  /// The reason (Protocol §10); the other end may have reasons that this one does not know.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

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
  /// A lower-case clause.
  package let message: String
  /// A sentence that says what to do.
  package let hint: String?
  /// The entry that the message is about.
  package let name: [UInt8]?
  /// Room for bytes; nil unless both figures are known.
  package let bytes: Space?
  /// Room for items; nil unless both figures are known.
  package let items: Space?
  private var unknown = Fields()

  package init(
    _ code: Code, _ message: String, hint: String? = nil, name: [UInt8]? = nil, bytes: Space? = nil,
    items: Space? = nil
  ) {
    self.code = code
    self.message = Self.cut(message)
    self.hint = hint.map(Self.cut)
    self.name = name
    self.bytes = bytes
    self.items = items
  }

  /// The message to the end that broke the protocol.
  package init(_ violation: Violation) {
    let code: Code = violation.code == .announcement ? .announcement : .violation
    self.init(code, violation.description)
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the closing message"
    let fields = try Fields(bytes, range, of: subject)
    code = Code(
      rawValue: try fields.requiredNumber(1, subject))
    message = try fields.text(2, limit: Limits.message, subject)
    hint = try fields.optionalText(3, limit: Limits.message, subject)
    name = fields.value(4)
    if let name, name.count > Limits.path { throw Violation(.limit, subject) }
    self.bytes = try Self.space(fields, 5)
    items = try Self.space(fields, 7)
    // A single figure of a pair stays among the unknown fields.
    let known: [UInt8] = [1, 2, 3, 4] + (self.bytes == nil ? [] : [5, 6]) + (items == nil ? [] : [7, 8])
    unknown = fields.unknown(besides: known)
  }

  private static func space(_ fields: Fields, _ tag: UInt8) throws(Violation) -> Space? {
    let needed: UInt64? = try fields.number(tag, "the closing message")
    let available: UInt64? = try fields.number(tag + 1, "the closing message")
    guard let needed, let available else { return nil }
    return Space(needed: needed, available: available)
  }

  /// Shortens a text to its limit without splitting a character.
  private static func cut(_ text: String) -> String {
    var text = text
    while text.utf8.count > Limits.message { text.removeLast() }
    return text
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1) { $0.u16(code.rawValue) }
    fields.append(2, Array(message.utf8))
    if let hint { fields.append(3, Array(hint.utf8)) }
    if let name { fields.append(4, name) }
    for (tag, space) in [(5 as UInt8, bytes), (7, items)] {
      guard let space else { continue }
      fields.append(tag) { $0.u64(space.needed) }
      fields.append(tag + 1) { $0.u64(space.available) }
    }
    fields.write(with: unknown, to: &writer)
  }
}

extension Close.Space {
  /// Both figures as sizes for people, or as exact numbers if the sizes would be equal.
  package var sizes: (needed: String, available: String) {
    let sizes = (ReadableNumber.size(needed), ReadableNumber.size(available))
    guard sizes.0 == sizes.1 else { return sizes }
    return ("\(ReadableNumber.count(needed)) bytes", "\(ReadableNumber.count(available)) bytes")
  }

  /// Both figures as counts of file system entries.
  package var entries: (needed: String, available: String) {
    ("\(ReadableNumber.count(needed)) file system entries", ReadableNumber.count(available))
  }

  /// Whether there is less than is needed.
  package var isShort: Bool { needed > available }
}
