package import MigrationWire

/// The items of a source that are left out because the destination cannot hold them, counted by
/// reason.
package struct Withholding: Equatable, Sendable {
  private let traits: DestinationTraits
  private var counts: [DestinationTraits.Lack: UInt64] = [:]

  /// Counts the abilities that a destination lacks for the items of a source.
  package init(by traits: DestinationTraits, of lacks: [DestinationTraits.Lack?] = []) {
    self.traits = traits
    for case let lack? in lacks { counts[lack, default: 0] += 1 }
  }

  /// The number of items that are left out.
  package var count: UInt64 { counts.values.reduce(0, +) }

  /// A clause for the user before any data is sent; nil if nothing is left out.
  package var clause: String? {
    let parts = DestinationTraits.Lack.allCases.compactMap { lack in counts[lack].map { (words(for: lack), $0) } }
    guard let first = parts.first else { return nil }
    var clauses = ["\(first.0) (\(first.1) left out)"]
    clauses += parts.dropFirst().map { "\($0.0) (\($0.1))" }
    if clauses.count > 1 { clauses[clauses.count - 1] = "and " + clauses[clauses.count - 1] }
    return "the destination cannot hold " + clauses.joined(separator: ", ")
  }

  private func words(for lack: DestinationTraits.Lack) -> String {
    switch lack {
    case .otherEncodings: "names that are not UTF-8"
    case .nonASCII: "names that are not ASCII"
    case .capitals: "names with capital letters"
    case .windowsCharacters: "names with control characters or one of \" * : < > ? \\ |"
    case .trailingDots: "names that end in a dot"
    case .trailingSpaces: "names that end in a space"
    case .longNames: "names of more than \(traits.longestName ?? 0) bytes"
    case .symbolicLinks: "symbolic links"
    case .longTargets: "symbolic links with targets of more than \(traits.longestTarget ?? 0) bytes"
    case .largeFiles: "files of \(Self.size(above: traits.largestFile ?? 0)) or more"
    case .directory: "items in directories that it cannot hold"
    case .target: "other names of files that it cannot hold"
    }
  }

  /// The least size that is too large, in the largest unit in which it is a whole number.
  private static func size(above largest: UInt64) -> String {
    guard largest < .max else { return "\(largest) bytes" }
    var (number, unit) = (largest + 1, 0)
    while number.isMultiple(of: 1024), unit < units.count - 1 { (number, unit) = (number / 1024, unit + 1) }
    return "\(number) \(units[unit])"
  }

  private static let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
}
