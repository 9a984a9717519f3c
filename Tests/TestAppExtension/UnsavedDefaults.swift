import AppMigrationKit

/// Sets defaults as an importer does that relies on their being kept.
enum UnsavedDefaults {
  static func set() {
    UserDefaults.standard.set("of the extension", forKey: "standard")
    for suite in ["suite.of.the.app", "group.org.example.test"] {
      UserDefaults(suiteName: suite)?.set("of \(suite)", forKey: "imported")
    }
  }
}
