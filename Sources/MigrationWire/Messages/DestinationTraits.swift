/// The abilities of a destination (Protocol §6.3), as far as they are known before any item
/// arrives.
package struct DestinationTraits: Equatable, Sendable {
  /// Which names it takes for what they are.
  package struct NameRules: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A name must be UTF-8.
    package static let utf8Only = NameRules(rawValue: 1)
    /// A name has none of `" * : < > ? \ |` and no byte below 20 (hexadecimal).
    package static let noWindowsCharacters = NameRules(rawValue: 2)
    /// A name does not end in a dot.
    package static let noTrailingDot = NameRules(rawValue: 4)
    /// A name does not end in a space.
    package static let noTrailingSpace = NameRules(rawValue: 8)
    /// Names that differ in case or normalisation alone may be one.
    package static let foldsNames = NameRules(rawValue: 16)
    /// There are no symbolic links.
    fileprivate static let noSymbolicLinks = NameRules(rawValue: 32)
    /// A name must be ASCII.
    package static let asciiOnly = NameRules(rawValue: 64)
    /// A name has no capital letter.
    package static let noCapitals = NameRules(rawValue: 128)
  }

  /// The most bytes in a file; nil without a limit.
  package var largestFile: UInt64?
  package var keepsSymbolicLinks = true
  /// The most bytes in a symbolic link's target; nil without a limit.
  package var longestTarget: Int?
  package var nameRules: NameRules = []
  /// The most bytes in a name; nil where every name that travels is short enough.
  package var longestName: Int?
  /// Times are kept in multiples of so many nanoseconds.
  package var timeGranularity: UInt32 = 1
  private var unknown = Fields()

  package init() {}

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the destination's traits"
    let fields = try Fields(bytes, range, of: subject)
    largestFile = try fields.read(1, subject) { reader, bytes throws(Violation) in try reader.u64(bytes) }
    let rules = try fields.read(2, subject) { reader, bytes throws(Violation) in try reader.u32(bytes) }
    nameRules = NameRules(rawValue: rules ?? 0)
    keepsSymbolicLinks = nameRules.remove(.noSymbolicLinks) == nil
    longestTarget = try fields.read(3, subject) { reader, bytes throws(Violation) in Int(try reader.u16(bytes)) }
    longestName = try fields.read(4, subject) { reader, bytes throws(Violation) in Int(try reader.u8(bytes)) }
    timeGranularity =
      try fields.read(5, subject) { reader, bytes throws(Violation) in try reader.u32(bytes) } ?? 1
    unknown = fields.unknown(besides: 1...5)
    // There is one encoding of everything, and a clock has a pace.
    guard rules != 0, fields.value(5) == nil || timeGranularity > 1 else { throw Violation(.value, subject) }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    if let largestFile { fields.append(1) { $0.u64(largestFile) } }
    let rules = keepsSymbolicLinks ? nameRules : nameRules.union(.noSymbolicLinks)
    if !rules.isEmpty { fields.append(2) { $0.u32(rules.rawValue) } }
    if let longestTarget { fields.append(3) { $0.u16(UInt16(clamping: longestTarget)) } }
    if let longestName { fields.append(4) { $0.u8(UInt8(clamping: longestName)) } }
    if timeGranularity > 1 { fields.append(5) { $0.u32(timeGranularity) } }
    fields.merge(unknown)
    fields.write(to: &writer)
  }
}
