import AppMigrationKit

/// The format of a database's notes. Formats are never changed, only added.
public enum DatabaseFormat: String, CaseIterable, Codable, Comparable, Sendable {
  /// Only text, with the tags in it.
  case one = "1"
  /// Text, tags, and the date.
  case two = "2"

  /// The newest format that this edition of the app knows: the first number of its version.
  public static let ofThisEdition: DatabaseFormat = {
    let version = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
    return version?.split(separator: ".").first.flatMap { DatabaseFormat(rawValue: String($0)) } ?? .two
  }()

  public static func < (left: DatabaseFormat, right: DatabaseFormat) -> Bool { left.rawValue < right.rawValue }
}
