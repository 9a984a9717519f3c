/// The treatment of an arriving item whose name is taken at the destination; the numbers are those
/// of the journal.
package enum Existing: UInt8, CaseIterable, Sendable {
  /// The transfer is refused, and nothing is written.
  case refuse = 1
  /// Folders are merged, and existing files stay as they are.
  case skip = 2
  /// The arriving item gets another name.
  case keepBoth = 3
  /// Folders are merged, and files and links take the places of those that are there.
  case replace = 4

  /// As a user writes it.
  package var name: String {
    switch self {
    case .refuse: "refuse"
    case .skip: "skip"
    case .keepBoth: "keep-both"
    case .replace: "replace"
    }
  }
}
