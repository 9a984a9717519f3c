import AppMigrationKit
import NewAppData
import Testing

@testable import NewAppMigration

/// The tests have the form of Apple's tester, which uses the app that hosts them. On Linux no app
/// hosts them, and the environment names a container.
struct NewAppMigrationTests {
  static let app = "org.example.new-app"
  static let notes = Notes(lines: ["buy milk", "call Robin"])
  static let settings = Settings(title: "Today")

  static let platform = MigrationPlatform("linux")

  let tester: AppMigrationTester

  /// Gives the app some data, and makes a tester for it.
  init() async throws {
    _ = Self.environment
    try Self.notes.write(in: .documentsDirectory)
    try Self.settings.write(to: Settings.file(of: Self.app, in: Self.container))
    tester = try await AppMigrationTester(platform: Self.platform)
  }

  @Test func everythingArrives() async throws {
    let export = try await tester.exportController.exportResources(request: nil)
    let importer = try await tester.importController
    try await importer.importResources(from: export.extractedResourcesURL)

    let arrived = try Self.arrived(importer)
    #expect(try Notes(in: arrived.appending(path: "Documents")) == Self.notes)
    #expect(try Settings(contentsOf: Settings.file(of: Self.app, in: arrived)) == Self.settings)
  }

  @Test func theEstimateIsNotTooLow() async throws {
    let figures = try await tester.exportController.exportResources(request: nil).exportProperties
    #expect(figures.sizeEstimate >= figures.uncompressedBytes)
  }

  @Test func aLaterVersionIsRefused() async throws {
    let export = try await tester.exportController.exportResources(request: nil)
    let source = MigrationAppIdentifier(
      storeIdentifier: .init(""), bundleIdentifier: Self.app, platform: Self.platform)
    let request = ResourcesImportRequest(sourceAppIdentifier: source, sourceVersion: "2")
    let importer = try await tester.importController
    await #expect(throws: ImportError.unknownVersion("2")) {
      try await importer.importResources(
        from: export.extractedResourcesURL, importRequest: request)
    }
  }

  @Test func aLinkIsRefused() async throws {
    let archive = try await tester.exportController.exportResources(request: nil)
      .extractedResourcesURL
    let notes = archive.appending(path: Notes.fileName).path
    try FileManager.default.removeItem(atPath: notes)
    try FileManager.default.createSymbolicLink(
      atPath: notes, withDestinationPath: "/etc/hostname")
    let importer = try await tester.importController
    await #expect(throws: ImportError.unexpectedItem(Notes.fileName)) {
      try await importer.importResources(from: archive)
    }
  }

  #if os(Linux)
    static let container = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../.build/container").standardized

    static let environment: Void = {
      let documents = container.appending(path: "Documents")
      try? FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
      setenv("PEER_TEST_CONTAINER", container.path, 1)
      setenv("PEER_TEST_BUNDLE_IDENTIFIER", app, 1)
    }()

    /// The container of an import, which is a fresh one.
    static func arrived(_ importer: AppMigrationTester.AppImportController) throws -> URL {
      try #require(importer.importedContainer).containerRootDirectory
    }
  #else
    static let container = URL.documentsDirectory.deletingLastPathComponent()
    static let environment: Void = ()

    /// The container of an import, which is the app's.
    static func arrived(_ importer: AppMigrationTester.AppImportController) throws -> URL { container }
  #endif
}
