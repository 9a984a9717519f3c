import AppMigrationKit

/// A note of the user.
public struct Note: Codable, Equatable, Sendable {
  public var text: String
  public var tags: [String]
  /// Nil for a note from an edition that did not store dates.
  public var created: Date?

  public init(text: String, tags: [String] = [], created: Date? = nil) {
    self.text = text
    self.tags = tags
    self.created = created
  }

  /// Makes a note from typed text: words that begin with # are its tags.
  public init(typed: String, created: Date? = nil) {
    let words = typed.split(separator: " ", omittingEmptySubsequences: false)
    let tags = words.filter { $0.hasPrefix("#") && $0.count > 1 }
    self.init(
      text: words.filter { !tags.contains($0) }.joined(separator: " "),
      tags: tags.map { String($0.dropFirst()) }, created: created)
  }

  /// The note as the user could type it.
  public var typed: String { ([text] + tags.map { "#\($0)" }).joined(separator: " ") }
}
