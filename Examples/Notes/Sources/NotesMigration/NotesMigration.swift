import AppMigrationKit
import NotesKit

/// Moves what the app keeps to another device, and takes it in there.
@main
struct NotesMigration: ResourcesExportingWithOptions, ResourcesImporting {
  /// What the other device may ask for.
  enum OptionsType: String, CaseIterable {
    /// "none" leaves pictures and recordings behind.
    case media
  }

  let resourcesImportProgress = Progress(totalUnitCount: 1)

  /// Where the app's data is.
  var files: NotesFiles {
    get throws {
      try NotesFiles(
        documents: appContainer.documentsDirectory, applicationSupport: appContainer.applicationSupportDirectory)
    }
  }
}

/// Where everything is in an archive. Editions of Notes for other platforms know these paths, so none of them ever changes.
enum ArchivePath {
  static let database = "notes.db"
  static let settings = "settings.json"
  static let media = "media"
  static let drafts = "group/drafts"
  static let sharedSettings = "group/settings.json"
}
