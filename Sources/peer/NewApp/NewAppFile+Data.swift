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
