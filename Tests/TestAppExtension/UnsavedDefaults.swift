import AppMigrationKit

/// Sets defaults like an importer that empties its group first, and expects them to be saved.
enum UnsavedDefaults {
  static func set(in group: URL) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: group.path) {
      try FileManager.default.removeItem(at: group.appending(path: name))
    }
    UserDefaults.standard.set("of the extension", forKey: "standard")
    for suite in ["suite.of.the.app", "group.org.example.test"] {
      UserDefaults(suiteName: suite)?.set("of \(suite)", forKey: "imported")
    }
  }
}
