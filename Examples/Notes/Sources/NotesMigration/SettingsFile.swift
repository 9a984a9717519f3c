import AppMigrationKit
import NotesKit

/// The property list in which `UserDefaults` keeps the settings of an app or a group.
///
/// The extension has its own defaults, so it reads and writes the file; the app does not run
/// meanwhile. Settings without a meaning on another device are not among `Values`, and are not
/// exported.
struct SettingsFile<Values: Codable> {
  let url: URL

  /// Nil if there are no settings.
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
  /// The app's settings in `UserDefaults.standard`. Foundation on Linux keeps them in another place
  /// than on Apple's platforms.
  init(of container: MigrationDataContainer) {
    url = container.containerRootDirectory.appending(path: ".config/\(container.bundleIdentifier).plist")
  }
}

extension SettingsFile<SharedSettings> {
  /// The settings of the group's apps, in the group's suite.
  init(of files: NotesFiles) {
    url = files.group.appending(path: "Library/Preferences/\(NotesFiles.groupIdentifier).plist")
  }
}
