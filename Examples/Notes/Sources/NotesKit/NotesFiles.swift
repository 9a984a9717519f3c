import AppMigrationKit

/// Where the app's data is, for the app and for its extension.
public struct NotesFiles: Sendable {
  public static let groupIdentifier = "group.org.example.notes"

  public let database: URL
  /// A directory with pictures and recordings.
  public let media: URL
  /// The container that all apps of the group share.
  public let group: URL
  /// A directory in the group's container, with a file for each draft.
  public var drafts: URL { group.appending(path: "Drafts") }

  public init(documents: URL, applicationSupport: URL, group: URL) {
    database = applicationSupport.appending(path: "notes.db")
    media = documents.appending(path: "Media")
    self.group = group
  }

  /// Throws a `NotesError` where the group has no container.
  public init(documents: URL, applicationSupport: URL) throws {
    let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Self.groupIdentifier)
    guard let group else { throw NotesError.noGroup }
    self.init(documents: documents, applicationSupport: applicationSupport, group: group)
  }
}

extension FileManager {
  /// What is in a directory, ordered by name; nothing where there is no such directory.
  public func items(in directory: URL) throws -> [URL] {
    guard fileExists(atPath: directory.path) else { return [] }
    return try contentsOfDirectory(atPath: directory.path).sorted().map { directory.appending(path: $0) }
  }
}
