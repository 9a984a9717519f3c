import AppMigrationKit
import NotesKit

extension NotesMigration {
  /// The format of the existing database, which may be older than this edition's format.
  var resourcesVersion: String {
    let database = try? NotesDatabase(contentsOf: files.database)
    return (database?.format ?? .ofThisEdition).rawValue
  }

  var resourcesSizeEstimate: Int {
    get async {
      guard let files = try? files else { return 0 }
      let bytes = [files.database, files.media, files.drafts].map { FileManager.default.size(of: $0) }.reduce(0, +)
      // Settings are small, and an estimate should rather be too high.
      return bytes + bytes / 10 + 4096
    }
  }

  var resourcesCompressible: Bool { true }

  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<OptionsType>
  ) async throws {
    let files = try files
    try await append(files.database, as: ArchivePath.database, to: archiver)
    try await append(files.drafts, as: ArchivePath.drafts, to: archiver)
    try await append(SettingsFile<Settings>(of: appContainer), as: ArchivePath.settings, to: archiver)
    try await append(SettingsFile<SharedSettings>(of: files), as: ArchivePath.sharedSettings, to: archiver)
    if request.options[.media] != Data("none".utf8) {
      try await append(files.media, as: ArchivePath.media, to: archiver)
    }
  }

  /// Appends an existing item as it is: a copy or a conversion could fill the disk. The importer
  /// knows all formats.
  private func append(_ item: URL, as path: String, to archiver: ResourcesArchiver) async throws {
    guard FileManager.default.fileExists(atPath: item.path) else { return }
    try await archiver.appendItem(at: item, pathInArchive: path)
  }

  /// Settings are an exception: they are small, and not every platform reads property lists.
  private func append<Values>(
    _ settings: SettingsFile<Values>, as path: String, to archiver: ResourcesArchiver
  ) async throws {
    guard let values = try settings.read() else { return }
    let copy = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: copy) }
    try JSONEncoder().encode(values).write(to: copy)
    try await archiver.appendItem(at: copy, pathInArchive: path)
  }
}

extension FileManager {
  /// The bytes of a file, or of all files in a directory.
  fileprivate func size(of item: URL) -> Int {
    let paths = (try? subpathsOfDirectory(atPath: item.path)) ?? []
    return ([item] + paths.map { item.appending(path: $0) }).reduce(0) { sum, file in
      sum + ((try? attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0)
    }
  }
}
