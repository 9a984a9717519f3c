import AppMigrationKit

/// Exports and imports, in the format of the exporter's version.
@main
struct NotesExtension: ResourcesExporting, ResourcesImporting {
  private static let group = "group.org.example.notes"

  private let progress = Progress(totalUnitCount: 100)

  // MARK: Exporting

  func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {
    let container = appContainer
    if request.destinationPlatform == .android {
      try await archiver.appendItem(at: container.documentsDirectory, pathInArchive: "files")
    } else {
      try await archiver.appendItem(at: container.documentsDirectory)
    }
    let database = container.applicationSupportDirectory.appending(path: "notes.db")
    try await archiver.appendItem(at: database, pathInArchive: "database/notes.db")
    guard let shared = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Self.group) else {
      return
    }
    let contents = try FileManager.default.contentsOfDirectory(at: shared, includingPropertiesForKeys: nil)
    for item in contents {
      try await archiver.appendItem(at: item, pathInArchive: "shared/" + item.lastPathComponent)
    }
  }

  var resourcesSizeEstimate: Int {
    get async {
      let keys: [URLResourceKey] = [.fileSizeKey]
      guard
        let items = FileManager.default.enumerator(
          at: appContainer.containerRootDirectory, includingPropertiesForKeys: keys)
      else { return 0 }
      var size = 0
      while let item = items.nextObject() as? URL {
        size += (try? item.resourceValues(forKeys: Set(keys)))?.fileSize ?? 0
      }
      return size + size / 10
    }
  }

  var resourcesVersion: String { "3.0" }
  var resourcesCompressible: Bool { true }

  // MARK: Importing

  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    try clearGroup()
    progress.completedUnitCount = 10
    switch request.sourceVersion {
    case "1.0": try importFirstVersion(at: url)
    case "2.0", "3.0": try importDirectories(at: url, from: request.sourceAppIdentifier.platform)
    default: throw ImportError.unsupportedVersion(request.sourceVersion)
    }
    progress.completedUnitCount = 100
  }

  var resourcesImportProgress: Progress { progress }

  /// The first version was one text file.
  private func importFirstVersion(at url: URL) throws {
    let text = try String(contentsOf: url.appending(path: "notes.txt"), encoding: .utf8)
    for (number, note) in text.split(separator: "\n").enumerated() {
      let file = appContainer.documentsDirectory.appending(path: "note-\(number + 1).txt")
      try String(note).write(to: file, atomically: true, encoding: .utf8)
    }
  }

  private func importDirectories(at url: URL, from platform: MigrationPlatform) throws {
    let documents = url.appending(path: platform == .android ? "files" : "Documents")
    try moveContents(of: documents, to: appContainer.documentsDirectory)
    try moveContents(of: url.appending(path: "database"), to: appContainer.applicationSupportDirectory)
    guard let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Self.group) else {
      return
    }
    try moveContents(of: url.appending(path: "shared"), to: group)
  }

  private func moveContents(of source: URL, to destination: URL) throws {
    let manager = FileManager.default
    guard manager.fileExists(atPath: source.path) else { return }
    for item in try manager.contentsOfDirectory(at: source, includingPropertiesForKeys: nil) {
      try manager.moveItem(at: item, to: destination.appending(path: item.lastPathComponent))
    }
  }

  /// A failed import leaves the groups as they are, so an earlier attempt may have left data.
  private func clearGroup() throws {
    let manager = FileManager.default
    guard let group = manager.containerURL(forSecurityApplicationGroupIdentifier: Self.group) else { return }
    for item in try manager.contentsOfDirectory(at: group, includingPropertiesForKeys: nil) {
      try manager.removeItem(at: item)
    }
  }
}

enum ImportError: Error {
  case unsupportedVersion(String)
}
