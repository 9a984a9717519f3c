import AppMigrationKit
import MainActorMigrations
import Testing

@testable import NotesMigration
@testable import PhotosMigration

@Suite final class MigrationTests {
  private let root = FileManager.default.temporaryDirectory.appending(path: "dependent-\(UUID().uuidString)")
  private static let group = "group.org.example.notes"

  deinit { try? FileManager.default.removeItem(at: root) }

  private func write(_ path: String, _ text: String) throws {
    let file = root.appending(path: path)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: file, atomically: true, encoding: .utf8)
  }

  private func with(
    _ type: any AppMigrationExtension.Type, _ body: () async throws -> Void
  ) async throws {
    try await AppMigrationTester.withConfiguration(
      extension: type, container: root.appending(path: "app"), groups: [Self.group: root.appending(path: "group")],
      bundleIdentifier: "org.example.notes", body)
  }

  private func request(version: String, from platform: MigrationPlatform = .linux) -> ResourcesImportRequest {
    ResourcesImportRequest(
      sourceAppIdentifier: MigrationAppIdentifier(
        storeIdentifier: .googlePlay, bundleIdentifier: "org.example.notes", platform: platform),
      sourceVersion: version)
  }

  @Test(arguments: [MigrationPlatform.linux, .android])
  func `notes return unchanged from every platform`(_ platform: MigrationPlatform) async throws {
    try write("app/Documents/first.txt", "one")
    try write("app/Documents/folder/second.txt", "two")
    try write("app/Library/Application Support/notes.db", "database")
    try write("group/shared.txt", "shared")
    try await with(NotesExtension.self) {
      let tester = try await AppMigrationTester(platform: platform)
      let exported = try await tester.exportController.exportResources(
        request: MigrationRequest(destinationPlatform: platform))
      let documents = platform == .android ? "files" : "Documents"
      let note = exported.extractedResourcesURL.appending(path: "\(documents)/folder/second.txt")
      #expect(try String(contentsOf: note, encoding: .utf8) == "two")
      let properties = exported.exportProperties
      #expect(properties.uncompressedBytes == 20)
      #expect(properties.sizeEstimate >= 14)
      #expect(properties.version == "3.0")
      #expect(try #require(properties.compressedBytes) <= properties.uncompressedBytes)

      let progress = Progress(totalUnitCount: 10)
      let controller = try await tester.importController
      try await controller.importResources(from: exported.extractedResourcesURL, progress: progress)
      #expect(progress.isFinished)
      let container = try #require(controller.importedContainer)
      #expect(
        FileManager.default.contentsEqual(
          atPath: container.documentsDirectory.path, andPath: root.appending(path: "app/Documents").path))
      let database = container.applicationSupportDirectory.appending(path: "notes.db")
      #expect(try String(contentsOf: database, encoding: .utf8) == "database")
      let group = try #require(controller.importedContainerURL(forSecurityApplicationGroupIdentifier: Self.group))
      #expect(try String(contentsOf: group.appending(path: "shared.txt"), encoding: .utf8) == "shared")
    }
  }

  @Test func `the importer still reads the first version's notes`() async throws {
    try write("archive/notes.txt", "a\nb\n")
    try await with(NotesExtension.self) {
      let controller = try await AppMigrationTester(platform: .linux).importController
      try await controller.importResources(
        from: root.appending(path: "archive"), importRequest: request(version: "1.0"))
      let documents = try #require(controller.importedContainer).documentsDirectory
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: documents.path).sorted() == ["note-1.txt", "note-2.txt"])
    }
  }

  @Test func `a future version fails, and the app sees the reason`() async throws {
    try await with(NotesExtension.self) {
      let controller = try await AppMigrationTester(platform: .linux).importController
      do {
        try await controller.importResources(from: root, importRequest: request(version: "9"))
        Issue.record("it was imported")
      } catch {
        try await controller.registerImportCompletion(with: .failure(error))
      }
      guard case .failure(let error) = MigrationStatus.importStatus else {
        Issue.record("no failure")
        return
      }
      #expect((error as NSError).domain.hasSuffix("ImportError"))
      MigrationStatus.clearImportStatus()
      #expect(MigrationStatus.importStatus == nil)
    }
  }

  @Test func `the exporter chooses photographs by the other device's request`() async throws {
    try write("app/Documents/Photos/2024/large.jpg", String(repeating: "x", count: 5_000))
    try write("app/Documents/Photos/small.jpg", "x")
    try await with(PhotosExtension.self) {
      let controller = try await AppMigrationTester(platform: .android).exportController
      let request = MigrationRequestWithOptions<PhotosExtension.PhotoOptions>(
        destinationPlatform: .android, options: [.quality: Data("high".utf8)])
      let high = try await controller.exportResources(request: request)
      #expect(try names(high) == ["photos", "photos/2024", "photos/2024/large.jpg"])
      #expect(high.exportProperties.compressedBytes == nil)
      let all = try await controller.exportResources(request: nil)
      #expect(try names(all).contains("photos/small.jpg"))
    }
  }

  @Test func `an extension on the main actor also migrates`() async throws {
    try write("app/Library/Application Support/settings.json", "{}")
    try await with(SettingsExtension.self) {
      let tester = try await AppMigrationTester(platform: .linux)
      let exported = try await tester.exportController.exportResources(request: nil)
      let controller = try await tester.importController
      try await controller.importResources(from: exported.extractedResourcesURL)
      let settings = try #require(controller.importedContainer).applicationSupportDirectory
        .appending(path: "settings.json")
      #expect(try String(contentsOf: settings, encoding: .utf8) == "{}")
    }
  }

  @Test func `one call configures a whole process`() async throws {
    try write("app/Library/Application Support/settings.json", "{}")
    AppMigrationTester.configure(extension: SettingsExtension.self, container: root.appending(path: "app"))
    let exported = try await AppMigrationTester(platform: .linux).exportController.exportResources(request: nil)
    #expect(try names(exported) == ["settings.json"])
  }

  private func names(_ result: AppMigrationTester.ResourcesExportResult) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: result.extractedResourcesURL.path).sorted()
  }
}
