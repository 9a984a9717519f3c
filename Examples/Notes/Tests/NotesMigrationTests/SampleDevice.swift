import AppMigrationKit
import NotesKit
import Testing

@testable import NotesMigration

/// A device with data of Notes, in its own directory.
struct SampleDevice {
  static let bundleIdentifier = "org.example.notes"

  let container: URL
  let group: URL
  let files: NotesFiles
  let settings: SettingsFile<Settings>

  /// Sets up a device, configures the testers for it, and removes it at the end.
  static func with(_ body: (SampleDevice, AppMigrationTester) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let device = try SampleDevice(in: directory)
    try await AppMigrationTester.withConfiguration(
      extension: NotesMigration.self, container: device.container,
      groups: [NotesFiles.groupIdentifier: device.group], bundleIdentifier: bundleIdentifier
    ) {
      try await body(device, AppMigrationTester(platform: .linux))
    }
  }

  private init(in directory: URL) throws {
    container = directory.appending(path: "container")
    group = directory.appending(path: "group")
    files = NotesFiles(
      documents: container.appending(path: "Documents"),
      applicationSupport: container.appending(path: "Library/Application Support"), group: group)
    settings = Self.settings(in: container)
    for directory in [files.media, files.drafts] {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }
    try Self.database.write(to: files.database)
    try Self.picture.write(to: files.media.appending(path: "picture.png"))
    try Data("Dear all,".utf8).write(to: files.drafts.appending(path: "1.txt"))
    try settings.write(Settings(sortOrder: "newest"))
    try SettingsFile(of: files).write(SharedSettings(signature: "Kim"))
  }

  static func settings(in container: URL) -> SettingsFile<Settings> {
    SettingsFile(url: container.appending(path: ".config/\(bundleIdentifier).plist"))
  }

  static let picture = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  static let database = NotesDatabase(
    format: .two,
    notes: [
      Note(text: "buy milk", tags: ["shopping"], created: Date(timeIntervalSince1970: 1_750_000_000)),
      Note(text: "call Robin", created: Date(timeIntervalSince1970: 1_760_000_000)),
    ])
}

/// The places of imported data.
struct Arrival {
  let files: NotesFiles
  let settings: SettingsFile<Settings>

  init(_ importer: AppMigrationTester.AppImportController) throws {
    let container = try #require(importer.importedContainer)
    let group = importer.importedContainerURL(forSecurityApplicationGroupIdentifier: NotesFiles.groupIdentifier)
    files = NotesFiles(
      documents: container.documentsDirectory, applicationSupport: container.applicationSupportDirectory,
      group: try #require(group))
    settings = SampleDevice.settings(in: container.containerRootDirectory)
  }
}
