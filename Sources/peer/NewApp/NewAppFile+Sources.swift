extension NewAppFile {
  /// The app: data of two kinds, and a greeting after a migration.
  static func app(_ names: NewAppNames) -> NewAppFile {
    NewAppFile(
      path: "Sources/\(names.app)/\(names.app).swift",
      text: #"""
        \#(imports("AppMigrationKit", names.data))

        /// The app: notes in its Documents, and a title in its settings.
        @main
        enum \#(names.app) {
          static let usage = """
            usage: \#(names.app) add TEXT     adds a note
                   \#(names.app) title TEXT   sets the title
                   \#(names.app) list         shows both
            """

          static func main() throws {
            greet()
            let documents = try FileManager.default.url(
              for: .documentDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            var notes = try Notes(in: documents)
            let words = CommandLine.arguments.dropFirst()
            switch (words.first, words.dropFirst().joined(separator: " ")) {
            case ("add", let text) where !text.isEmpty:
              notes.lines.append(text)
              try notes.write(in: documents)
            case ("title", let text) where !text.isEmpty:
              UserDefaults.standard.set(text, forKey: Settings.title)
            case ("list", ""):
              print(UserDefaults.standard.string(forKey: Settings.title) ?? "Notes")
              for line in notes.lines { print("- \(line)") }
            default:
              print(usage)
              exit(2)
            }
          }

          /// Reports the result of the migration, at the first start after it.
          private static func greet() {
            switch MigrationStatus.importStatus {
            case nil: return
            case .success: print("Welcome back! Your notes have moved to this device.")
            case .failure(let error): print("Your notes did not arrive: \(error.localizedDescription)")
            }
            MigrationStatus.clearImportStatus()
          }
        }

        """#)
  }
}

extension NewAppFile {
  /// The shared code of the app and its extension: the formats of the app's data.
  static func shared(_ names: NewAppNames) -> [NewAppFile] {
    [
      NewAppFile(
        path: "Sources/\(names.data)/Notes.swift",
        text: #"""
          import Foundation

          /// The app's data in its Documents.
          package struct Notes: Codable, Equatable, Sendable {
            /// The name of the file, in Documents and in an archive. It never changes, since older
            /// versions know it.
            package static let fileName = "notes.json"

            package var lines: [String]

            package init(lines: [String] = []) { self.lines = lines }

            /// Reads the file in a directory; a missing file means no notes.
            package init(in directory: URL) throws {
              let file = directory.appending(path: Self.fileName)
              guard FileManager.default.fileExists(atPath: file.path) else {
                self.init()
                return
              }
              self = try JSONDecoder().decode(Notes.self, from: Data(contentsOf: file))
            }

            /// Writes the file in a directory.
            package func write(in directory: URL) throws {
              let file = directory.appending(path: Self.fileName)
              try JSONEncoder().encode(self).write(to: file, options: .atomic)
            }
          }

          """#),
      NewAppFile(
        path: "Sources/\(names.data)/Settings.swift",
        text: #"""
          import Foundation

          /// The app's settings in `UserDefaults.standard`.
          ///
          /// The extension has its own defaults, so it reads and writes the property list of the
          /// app's defaults; the app does not run meanwhile.
          package struct Settings: Codable, Equatable, Sendable {
            /// The name of the file in an archive.
            package static let fileName = "settings.plist"
            /// The key of the title.
            package static let title = CodingKeys.title.stringValue

            package var title: String?

            package init(title: String? = nil) { self.title = title }

            /// The file of an app's defaults on Linux.
            package static func file(of app: String, in container: URL) -> URL {
              container.appending(path: ".config/\(app).plist")
            }

            /// Reads a property list; a missing one means no settings.
            package init(contentsOf file: URL) throws {
              guard FileManager.default.fileExists(atPath: file.path) else {
                self.init()
                return
              }
              self = try PropertyListDecoder().decode(Settings.self, from: Data(contentsOf: file))
            }

            /// Writes a property list, and creates its directory.
            package func write(to file: URL) throws {
              try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
              try PropertyListEncoder().encode(self).write(to: file, options: .atomic)
            }
          }

          """#),
    ]
  }
}

extension NewAppFile {
  /// The extension: an export, and an import that reads everything before it writes anything.
  static func migration(_ names: NewAppNames) -> NewAppFile {
    NewAppFile(
      path: "Sources/\(names.migration)/\(names.migration).swift",
      text: #"""
        \#(imports("AppMigrationKit", names.data))

        /// Moves the app's data to another device, and imports it there.
        @main
        struct \#(names.migration): ResourcesExporting, ResourcesImporting {
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

        """#)
  }
}

extension NewAppFile {
  /// The extension's tests.
  static func tests(_ names: NewAppNames) -> NewAppFile {
    NewAppFile(
      path: "Tests/\(names.tests)/\(names.tests).swift",
      text: #"""
        \#(imports("AppMigrationKit", names.data, "Testing"))

        @testable import \#(names.migration)

        /// The tests have the form of Apple's tester, which uses the app that hosts them. On Linux no app
        /// hosts them, and the environment names a container.
        struct \#(names.tests) {
          static let app = "\#(names.identifier)"
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

        """#)
  }
}
