extension DestinationTraits {
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

    /// How the other device is told.
    package var reason: RefusalReason {
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

  /// Why the destination cannot hold an item, as far as its record tells; nil where it may.
  package func refusal(of record: ItemRecord) -> RefusalReason? { lack(for: record)?.reason }

  /// The ability that the destination lacks for an item, as far as the item's record tells.
  package func lack(for record: ItemRecord) -> Lack? {
    if let lack = lack(forPath: record.path) { return lack }
    switch record.body {
    case .directory: return nil
    case .file(let size): return lack(for: .file, length: size)
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
    case .file: return largestFile.map { length > $0 } == true ? .largeFiles : nil
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

  /// Whether these traits rule out nothing that travels.
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

  /// Whether a byte of a name is one that file systems of Windows have no place for.
  package static func isWindowsCharacter(_ byte: UInt8) -> Bool {
    byte < 0x20 || windowsCharacters.contains(byte)
  }

  /// The characters that file systems of Windows have no place for, besides control characters.
  package static let windowsCharacters = Array("\"*:<>?\\|".utf8)
}
