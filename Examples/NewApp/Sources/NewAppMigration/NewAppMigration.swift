import AppMigrationKit
import NewAppData

/// Moves the app's data to another device, and imports it there.
@main
struct NewAppMigration: ResourcesExporting, ResourcesImporting {
  let resourcesImportProgress = Progress(totalUnitCount: 2)

  /// The format of an archive. The importer reads this one and all earlier ones.
  var resourcesVersion: String { "1" }

  var resourcesCompressible: Bool { true }

  var resourcesSizeEstimate: Int {
    get async {
      let sizes = files.map { (file, _) in
        try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
      }
      return sizes.reduce(0) { $0 + ($1 ?? 0) }
    }
  }

  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequest
  ) async throws {
    for (file, name) in files where FileManager.default.fileExists(atPath: file.path) {
      try await archiver.appendItem(at: file, pathInArchive: name)
    }
  }

  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    guard request.sourceVersion == resourcesVersion else {
      throw ImportError.unknownVersion(request.sourceVersion)
    }
    // Everything is read before anything is written: data from another device may be
    // damaged.
    try checkFiles(in: url)
    let notes = try Notes(in: url)
    let settings = try Settings(contentsOf: url.appending(path: Settings.fileName))

    try notes.write(in: appContainer.documentsDirectory)
    resourcesImportProgress.completedUnitCount = 1
    try settings.write(to: settingsFile)
    resourcesImportProgress.completedUnitCount = 2
  }

  /// Each file that is exported, and its name in an archive.
  private var files: [(file: URL, name: String)] {
    [
      (appContainer.documentsDirectory.appending(path: Notes.fileName), Notes.fileName),
      (settingsFile, Settings.fileName),
    ]
  }

  private var settingsFile: URL {
    Settings.file(of: appContainer.bundleIdentifier, in: appContainer.containerRootDirectory)
  }

  /// Fails if an item in an archive is not a file, such as a link, which could lead
  /// anywhere.
  private func checkFiles(in archive: URL) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: archive.path) {
      let path = archive.appending(path: name).path
      let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      guard type == .typeRegular else { throw ImportError.unexpectedItem(name) }
    }
  }
}

/// The reasons for refusing an import, in words for the user: the app shows them at its
/// next start.
enum ImportError: LocalizedError, Equatable {
  case unknownVersion(String)
  case unexpectedItem(String)

  var errorDescription: String? {
    switch self {
    case .unknownVersion: "The notes are from a newer version of this app. Update the app."
    case .unexpectedItem(let name): "The other device sent an item that is not a file: \(name)."
    }
  }
}
