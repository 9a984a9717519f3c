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
