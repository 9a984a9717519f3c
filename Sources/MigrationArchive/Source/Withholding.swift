package import MigrationWire

/// What of a source is left out since the destination cannot hold it: how many items for each reason.
package struct Withholding: Equatable, Sendable {
  private let traits: DestinationTraits
  private var counts: [DestinationTraits.Lack: UInt64] = [:]

  /// Counts what a destination lacks for the items of a source.
  package init(by traits: DestinationTraits, of lacks: [DestinationTraits.Lack?] = []) {
    self.traits = traits
    for case let lack? in lacks { counts[lack, default: 0] += 1 }
  }

  /// How many items are left out.
  package var count: UInt64 { counts.values.reduce(0, +) }

  /// What the user is told before anything is sent, a clause; nil where nothing is left out.
  package var clause: String? {
    let parts = DestinationTraits.Lack.allCases.compactMap { lack in counts[lack].map { (words(for: lack), $0) } }
    guard let first = parts.first else { return nil }
    var clauses = ["\(first.0) (\(first.1) in what is sent)"]
    clauses += parts.dropFirst().map { "\($0.0) (\($0.1))" }
    if clauses.count > 1 { clauses[clauses.count - 1] = "and " + clauses[clauses.count - 1] }
    return "the destination keeps " + clauses.joined(separator: ", ")
  }

  private func words(for lack: DestinationTraits.Lack) -> String {
    switch lack {
    case .otherEncodings: "no names that are not UTF-8"
    case .nonASCII: "no names that are not ASCII"
    case .capitals: "no names with capital letters"
    case .windowsCharacters: "no names with control characters or one of \" * : < > ? \\ |"
    case .trailingDots: "no names that end in a dot"
    case .trailingSpaces: "no names that end in a space"
    case .longNames: "no names of more than \(traits.longestName ?? 0) bytes"
    case .symbolicLinks: "no symbolic links"
    case .longTargets: "no symbolic links to more than \(traits.longestTarget ?? 0) bytes"
    case .largeFiles: "no file of \(Self.size(above: traits.largestFile ?? 0)) or more"
    case .directory: "nothing in directories that it cannot hold"
    case .target: "no other names of files that it cannot hold"
    }
  }

  /// The smallest size that is too large, in the largest unit that makes it a whole number.
  private static func size(above largest: UInt64) -> String {
    guard largest < .max else { return "\(largest) bytes" }
    var (number, unit) = (largest + 1, 0)
    while number.isMultiple(of: 1024), unit < units.count - 1 { (number, unit) = (number / 1024, unit + 1) }
    return "\(number) \(units[unit])"
  }

  private static let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
}
