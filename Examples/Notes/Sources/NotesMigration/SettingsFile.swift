import AppMigrationKit
import NotesKit

/// The property list that `UserDefaults` keeps an app's, or a group's, settings in.
///
/// The extension has defaults of its own, so it reads and writes the file; the app does not run meanwhile. Settings that mean
/// nothing on another device are not among `Values`, and stay behind.
struct SettingsFile<Values: Codable> {
  let url: URL

  /// Nil where nothing was set.
  func read() throws -> Values? {
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    return try PropertyListDecoder().decode(Values.self, from: Data(contentsOf: url))
  }

  func write(_ values: Values) throws {
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try PropertyListEncoder().encode(values).write(to: url, options: .atomic)
  }
}

extension SettingsFile<Settings> {
  /// What the app keeps in `UserDefaults.standard`. Foundation on Linux has it in another place than on Apple's platforms.
  init(of container: MigrationDataContainer) {
    url = container.containerRootDirectory.appending(path: ".config/\(container.bundleIdentifier).plist")
  }
}

extension SettingsFile<SharedSettings> {
  /// What the apps of the group keep in its suite.
  init(of files: NotesFiles) {
    url = files.group.appending(path: "Library/Preferences/\(NotesFiles.groupIdentifier).plist")
  }
}
