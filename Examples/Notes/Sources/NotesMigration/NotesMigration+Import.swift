import AppMigrationKit
import NotesKit

extension NotesMigration {
  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    let files = try files
    // An earlier attempt may have left data; the system has emptied only the app's own container.
    try removeGroupData(files)
    do {
      try takeIn(ArrivedNotes(at: url, version: request.sourceVersion), files)
    } catch {
      try? removeGroupData(files)
      throw error
    }
  }

  /// Puts everything in its place. All of it was read before, so little can fail from here on.
  private func takeIn(_ arrived: ArrivedNotes, _ files: NotesFiles) throws {
    resourcesImportProgress.totalUnitCount = Int64(arrived.media.count + arrived.drafts.count + 1)
    if let database = arrived.database { try database.upgraded(to: .ofThisEdition).write(to: files.database) }
    if let settings = arrived.settings { try SettingsFile(of: appContainer).write(settings) }
    if let settings = arrived.sharedSettings { try SettingsFile(of: files).write(settings) }
    resourcesImportProgress.completedUnitCount = 1
    try move(arrived.drafts, to: files.drafts)
    try move(arrived.media, to: files.media)
  }

  /// Files are moved, not copied: they need no space, however large they are.
  private func move(_ items: [URL], to directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for item in items {
      try Task.checkCancellation()
      try FileManager.default.moveItem(at: item, to: directory.appending(path: item.lastPathComponent))
      resourcesImportProgress.completedUnitCount += 1
    }
  }

  /// Removes what this app keeps in its group.
  private func removeGroupData(_ files: NotesFiles) throws {
    for item in [files.drafts, SettingsFile(of: files).url] where FileManager.default.fileExists(atPath: item.path) {
      try FileManager.default.removeItem(at: item)
    }
  }
}
