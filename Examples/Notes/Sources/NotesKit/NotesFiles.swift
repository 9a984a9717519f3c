import AppMigrationKit

/// The places of the app's data, for the app and for its extension.
public struct NotesFiles: Sendable {
  public static let groupIdentifier = "group.org.example.notes"
  private static let draftsName = "Drafts"

  public let database: URL
  /// A directory with pictures and recordings.
  public let media: URL
  /// The container that all apps of the group share.
  public let group: URL
  /// A directory in the group's container, with a file for each draft.
  public var drafts: URL { group.appending(path: Self.draftsName) }

  public init(documents: URL, applicationSupport: URL, group: URL) {
    database = applicationSupport.appending(path: "notes.db")
    media = documents.appending(path: "Media")
    self.group = group
  }

  /// Throws a `NotesError` if the group has no container.
  public init(documents: URL, applicationSupport: URL) throws {
    self.init(documents: documents, applicationSupport: applicationSupport, group: try Self.ownGroup)
  }

  /// The container of the group, which the app shares with its clip.
  private static var ownGroup: URL {
    get throws {
      let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: groupIdentifier)
      guard let group else { throw NotesError.noGroup }
      return group
    }
  }

  /// Stores a draft in the place where the app and its clip look for drafts.
  public static func keepDraft(_ text: String) throws {
    let drafts = try ownGroup.appending(path: draftsName)
    try FileManager.default.createDirectory(at: drafts, withIntermediateDirectories: true)
    let number = try FileManager.default.items(in: drafts).count + 1
    try Data(text.utf8).write(to: drafts.appending(path: "\(number).txt"), options: .atomic)
  }
}

extension FileManager {
  /// The items of a directory, ordered by name; empty if the directory does not exist.
  public func items(in directory: URL) throws -> [URL] {
    guard fileExists(atPath: directory.path) else { return [] }
    return try contentsOfDirectory(atPath: directory.path).sorted().map { directory.appending(path: $0) }
  }
}
