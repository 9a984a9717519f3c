import AppMigrationKit

/// How a database keeps its notes. Formats are never changed, only added.
public enum DatabaseFormat: String, CaseIterable, Codable, Comparable, Sendable {
  /// Text alone, with the tags in it.
  case one = "1"
  /// Text, tags, and the date.
  case two = "2"

  /// The newest that this edition of the app knows: the first number of its version.
  public static let ofThisEdition: DatabaseFormat = {
    let version = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
    return version?.split(separator: ".").first.flatMap { DatabaseFormat(rawValue: String($0)) } ?? .two
  }()

  public static func < (left: DatabaseFormat, right: DatabaseFormat) -> Bool { left.rawValue < right.rawValue }
}
