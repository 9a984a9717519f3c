import AppMigrationKit

/// Sets defaults like an importer that expects them to be saved.
enum UnsavedDefaults {
  static func set() {
    UserDefaults.standard.set("of the extension", forKey: "standard")
    for suite in ["suite.of.the.app", "group.org.example.test"] {
      UserDefaults(suiteName: suite)?.set("of \(suite)", forKey: "imported")
    }
  }
}
