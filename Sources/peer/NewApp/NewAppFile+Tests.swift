extension NewAppFile {
  /// The extension's tests.
  static func tests(_ names: NewAppNames) -> NewAppFile {
    NewAppFile(
      path: "Tests/\(names.tests)/\(names.tests).swift",
      text: #"""
        \#(imports("AppMigrationKit", names.data, "Testing"))

        @testable import \#(names.migration)

        struct \#(names.tests) {
          static let app = "\#(names.identifier)"
          static let notes = Notes(lines: ["buy milk", "call Robin"])
          static let settings = Settings(title: "Today")

          @Test func everythingArrives() async throws {
            try await withUsedApp { tester in
              let export = try await tester.exportController.exportResources(request: nil)
              let importer = try await tester.importController
              try await importer.importResources(from: export.extractedResourcesURL)

              let arrived = try #require(importer.importedContainer)
              #expect(try Notes(in: arrived.documentsDirectory) == Self.notes)
              let file = Settings.file(of: Self.app, in: arrived.containerRootDirectory)
              #expect(try Settings(contentsOf: file) == Self.settings)
            }
          }

          @Test func theEstimateIsNotTooLow() async throws {
            try await withUsedApp { tester in
              let figures = try await tester.exportController.exportResources(request: nil).exportProperties
              #expect(figures.sizeEstimate >= figures.uncompressedBytes)
            }
          }

          @Test func aLaterVersionIsRefused() async throws {
            try await withUsedApp { tester in
              let export = try await tester.exportController.exportResources(request: nil)
              let source = MigrationAppIdentifier(
                storeIdentifier: .init(""), bundleIdentifier: Self.app, platform: .linux)
              let request = ResourcesImportRequest(sourceAppIdentifier: source, sourceVersion: "2")
              let importer = try await tester.importController
              await #expect(throws: ImportError.unknownVersion("2")) {
                try await importer.importResources(
                  from: export.extractedResourcesURL, importRequest: request)
              }
            }
          }

          @Test func aLinkIsRefused() async throws {
            try await withUsedApp { tester in
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
          }

          /// Gives the tester the extension, and an app with data in a container of its own.
          private func withUsedApp(_ body: (AppMigrationTester) async throws -> Void) async throws {
            let container = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: container) }
            let documents = container.appending(path: "Documents")
            try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
            try Self.notes.write(in: documents)
            try Self.settings.write(to: Settings.file(of: Self.app, in: container))
            try await AppMigrationTester.withConfiguration(
              extension: \#(names.migration).self, container: container, bundleIdentifier: Self.app
            ) {
              try await body(AppMigrationTester(platform: .linux))
            }
          }
        }

        """#)
  }
}
