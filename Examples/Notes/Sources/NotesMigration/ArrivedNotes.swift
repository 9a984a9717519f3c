import AppMigrationKit
import NotesKit

/// The data from the other device, read completely and checked. Data that the other device left out
/// is nil or empty.
struct ArrivedNotes {
  let database: NotesDatabase?
  let settings: Settings?
  let sharedSettings: SharedSettings?
  let media: [URL]
  let drafts: [URL]

  /// Reads an archive, and changes nothing.
  ///
  /// - Parameter version: the exporter's `resourcesVersion`, which is the database's format.
  init(at archive: URL, version: String) throws {
    guard let format = DatabaseFormat(rawValue: version), format <= .ofThisEdition else {
      throw NotesError.unknownFormat
    }
    database = try Self.database(at: archive.appending(path: ArchivePath.database), format)
    settings = try Self.values(in: archive, ArchivePath.settings)
    sharedSettings = try Self.values(in: archive, ArchivePath.sharedSettings)
    media = try Self.files(in: archive, ArchivePath.media)
    drafts = try Self.files(in: archive, ArchivePath.drafts)
  }

  private static func database(at url: URL, _ format: DatabaseFormat) throws -> NotesDatabase? {
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    let database = try NotesDatabase(contentsOf: url)
    guard database.format == format else { throw NotesError.unexpectedItem(path: ArchivePath.database) }
    return database
  }

  private static func values<Values: Decodable>(in archive: URL, _ path: String) throws -> Values? {
    let url = archive.appending(path: path)
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    return try JSONDecoder().decode(Values.self, from: Data(contentsOf: url))
  }

  /// The files of a directory. Notes has neither links nor directories there; a link could lead
  /// anywhere.
  private static func files(in archive: URL, _ path: String) throws -> [URL] {
    let items = try FileManager.default.items(in: archive.appending(path: path))
    for item in items {
      guard try FileManager.default.attributesOfItem(atPath: item.path)[.type] as? FileAttributeType == .typeRegular
      else { throw NotesError.unexpectedItem(path: "\(path)/\(item.lastPathComponent)") }
    }
    return items
  }
}
