import AppMigrationKit
import NotesKit
import Testing

@testable import NotesMigration

struct DefensiveImportTests {
  @Test func `the importer upgrades notes in the first format`() async throws {
    try await SampleDevice.with { device, tester in
      var old = NotesDatabase(format: .one)
      old.add("buy milk #shopping", created: Date())
      try old.write(to: device.files.database)

      let export = try await tester.exportController.exportResources()
      #expect(export.exportProperties.version == "1")
      let importer = try await tester.importController
      try await importer.importResources(from: export.extractedResourcesURL)

      let new = try NotesDatabase(contentsOf: Arrival(importer).files.database)
      #expect(new == NotesDatabase(format: .two, notes: [Note(text: "buy milk", tags: ["shopping"])]))
    }
  }

  @Test func `the importer refuses the format of a later edition`() async throws {
    try await expectRefusal(.unknownFormat, version: "3")
  }

  @Test func `the importer refuses a database that has another format than the exporter said`() async throws {
    try await expectRefusal(.unexpectedItem(path: "notes.db"), version: "1")
  }

  @Test func `the importer refuses a damaged database`() async throws {
    try await expectRefusal(.damagedDatabase(line: 3)) { archive in
      let database = archive.appending(path: "notes.db")
      try Data(contentsOf: database).dropLast(5).write(to: database)
    }
  }

  @Test func `the importer refuses a link among the media`() async throws {
    try await expectRefusal(.unexpectedItem(path: "media/link")) { archive in
      try FileManager.default.createSymbolicLink(
        atPath: archive.appending(path: "media/link").path, withDestinationPath: "/etc/hostname")
    }
  }

  @Test func `a cancelled import leaves no files in the group`() async throws {
    try await SampleDevice.with { device, tester in
      let archive = try await tester.exportController.exportResources().extractedResourcesURL
      let importer = try await tester.importController
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await importer.importResources(from: archive)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      let files = try Arrival(importer).files
      // The system empties the container, and the importer the group.
      #expect(!FileManager.default.fileExists(atPath: files.database.path))
      #expect(try filesLeft(in: files.group) == [])
    }
  }

  /// Expects that the importer refuses before it has moved any file.
  private func expectRefusal(
    _ error: NotesError, version: String = "2", tampering: (URL) throws -> Void = { _ in }
  ) async throws {
    try await SampleDevice.with { device, tester in
      let archive = try await tester.exportController.exportResources().extractedResourcesURL
      try tampering(archive)
      let before = try filesLeft(in: archive)
      let app = MigrationAppIdentifier(
        storeIdentifier: .init(""), bundleIdentifier: SampleDevice.bundleIdentifier, platform: .linux)
      let importer = try await tester.importController
      await #expect(throws: error) {
        try await importer.importResources(
          from: archive, importRequest: ResourcesImportRequest(sourceAppIdentifier: app, sourceVersion: version))
      }
      #expect(try filesLeft(in: archive) == before)
      #expect(try filesLeft(in: Arrival(importer).files.group) == [])
    }
  }

  private func filesLeft(in directory: URL) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter { path in
      let attributes = try FileManager.default.attributesOfItem(atPath: directory.appending(path: path).path)
      return attributes[.type] as? FileAttributeType != .typeDirectory
    }.sorted()
  }
}
