import AppMigrationKit
import NotesKit

/// Exports the app's data on one device, and imports it on another.
@main
struct NotesMigration: ResourcesExportingWithOptions, ResourcesImporting {
  /// The options that the other device may ask for.
  enum OptionsType: String, CaseIterable {
    /// "none" leaves pictures and recordings behind.
    case media
  }

  let resourcesImportProgress = Progress(totalUnitCount: 1)

  /// The places of the app's data.
  var files: NotesFiles {
    get throws {
      try NotesFiles(
        documents: appContainer.documentsDirectory, applicationSupport: appContainer.applicationSupportDirectory)
    }
  }
}

/// The paths of everything in an archive. Editions of Notes for other platforms know these paths,
/// so they never change.
enum ArchivePath {
  static let database = "notes.db"
  static let settings = "settings.json"
  static let media = "media"
  static let drafts = "group/drafts"
  static let sharedSettings = "group/settings.json"
}
