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
