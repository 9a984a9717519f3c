/// The abilities of a destination (Protocol §6.3), as far as they are known before any item
/// arrives.
package struct DestinationTraits: Equatable, Sendable {
  /// The rules for names.
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
  /// The most bytes in a name; nil if every valid name is short enough.
  package var longestName: Int?
  /// The granularity of times in nanoseconds.
  package var timeGranularity: UInt32 = 1
  /// The first and the last second of the times that it keeps; nil without a limit.
  package var earliestTime: Int64?
  package var latestTime: Int64?
  private var unknown = Fields()

  package init() {}

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the destination's traits"
    let fields = try Fields(bytes, range, of: subject)
    largestFile = try fields.number(1, subject)
    let rules: UInt32? = try fields.number(2, subject)
    nameRules = NameRules(rawValue: rules ?? 0)
    keepsSymbolicLinks = nameRules.remove(.noSymbolicLinks) == nil
    longestTarget = (try fields.number(3, subject) as UInt16?).map(Int.init)
    longestName = (try fields.number(4, subject) as UInt8?).map(Int.init)
    timeGranularity = try fields.number(5, subject) ?? 1
    earliestTime = try (fields.number(6, subject) as UInt64?).map { Int64(bitPattern: $0) }
    latestTime = try (fields.number(7, subject) as UInt64?).map { Int64(bitPattern: $0) }
    unknown = fields.unknown(besides: 1...7)
    // Default values are not encoded.
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
    if let earliestTime { fields.append(6) { $0.u64(UInt64(bitPattern: earliestTime)) } }
    if let latestTime { fields.append(7) { $0.u64(UInt64(bitPattern: latestTime)) } }
    fields.write(with: unknown, to: &writer)
  }

  /// The time that the destination keeps for one that is set.
  package func kept(_ time: ItemTime) -> ItemTime {
    time.clamped(from: earliestTime, to: latestTime).rounded(to: timeGranularity)
  }

  /// An ability that an item needs and the destination lacks; the first one if there are several.
  package enum Lack: UInt8, CaseIterable, Sendable {
    case otherEncodings
    case nonASCII
    case capitals
    case windowsCharacters
    case trailingDots
    case trailingSpaces
    case longNames
    case symbolicLinks
    case longTargets
    case largeFiles
    /// The directory that the item is in cannot be held.
    case directory
    /// The destination cannot hold the target of a hard link.
    case target

    /// The reason that the other device gets.
    package var reason: NotStored.Reason {
      switch self {
      case .otherEncodings, .nonASCII, .capitals, .windowsCharacters, .trailingDots, .trailingSpaces: .nameNotAllowed
      case .longNames: .nameTooLong
      case .symbolicLinks: .kindNotSupported
      case .longTargets: .targetTooLong
      case .largeFiles: .tooLarge
      case .directory: .directoryNotStored
      case .target: .targetNotStored
      }
    }
  }

  /// The reason why the destination cannot hold an item, judging by its record; nil if it may hold
  /// it.
  package func refusal(of record: ItemRecord) -> NotStored.Reason? { lack(for: record)?.reason }

  /// The ability that the destination lacks for an item, judging by the item's record.
  package func lack(for record: ItemRecord) -> Lack? {
    if let lack = lack(forPath: record.path) { return lack }
    switch record.body {
    case .directory: return nil
    case .file(let size), .metadata(let size): return lack(for: .file, length: size)
    case .symbolicLink(let target): return lack(for: .symbolicLink, length: UInt64(target.count))
    case .hardLink(let target): return lack(forPath: target) == nil ? nil : .target
    }
  }

  /// The ability that it lacks for a path: for its last name, or for a directory above it.
  package func lack(forPath path: ArchivePath) -> Lack? {
    guard restrictsNames else { return nil }
    let components = path.components
    if components.dropLast().contains(where: { lack(forName: $0) != nil }) { return .directory }
    return components.last.flatMap { lack(forName: $0) }
  }

  /// The ability that it lacks for a kind of item: a file of `length` bytes, or a symbolic link
  /// whose target has as many.
  package func lack(for kind: ItemKind, length: UInt64) -> Lack? {
    switch kind {
    case .file, .metadata: return largestFile.map { length > $0 } == true ? .largeFiles : nil
    case .symbolicLink:
      if !keepsSymbolicLinks { return .symbolicLinks }
      return longestTarget.map { length > UInt64($0) } == true ? .longTargets : nil
    case .directory, .hardLink: return nil
    }
  }

  /// The ability that it lacks for a single name.
  package func lack(forName name: ArraySlice<UInt8>) -> Lack? {
    guard restrictsNames else { return nil }
    let isASCII = name.allSatisfy { $0 < 0x80 }
    if !isASCII {
      if nameRules.contains(.utf8Only), String(validating: name, as: UTF8.self) == nil { return .otherEncodings }
      if nameRules.contains(.asciiOnly) { return .nonASCII }
    }
    if nameRules.contains(.noCapitals), Self.hasCapitals(name) { return .capitals }
    if nameRules.contains(.noWindowsCharacters), name.contains(where: Self.isWindowsCharacter) {
      return .windowsCharacters
    }
    if nameRules.contains(.noTrailingDot), name.last == UInt8(ascii: ".") { return .trailingDots }
    if nameRules.contains(.noTrailingSpace), name.last == UInt8(ascii: " ") { return .trailingSpaces }
    return longestName.map { name.count > $0 } == true ? .longNames : nil
  }

  /// Whether these traits allow every item.
  package var refusesNothing: Bool {
    !restrictsNames && keepsSymbolicLinks && longestTarget ?? Limits.linkTarget >= Limits.linkTarget
      && largestFile ?? Limits.fileSize >= Limits.fileSize
  }

  private var restrictsNames: Bool {
    !nameRules.isDisjoint(with: [
      .utf8Only, .asciiOnly, .noCapitals, .noWindowsCharacters, .noTrailingDot, .noTrailingSpace,
    ])
      || longestName ?? Limits.component < Limits.component
  }

  private static func hasCapitals(_ name: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: name, as: UTF8.self)
    return text.lowercased() != text
  }

  /// Whether file systems of Windows do not allow a byte in a name.
  package static func isWindowsCharacter(_ byte: UInt8) -> Bool {
    byte < 0x20 || windowsCharacters.contains(byte)
  }

  /// The characters that file systems of Windows do not allow, besides control characters.
  package static let windowsCharacters = Array("\"*:<>?\\|".utf8)
}
