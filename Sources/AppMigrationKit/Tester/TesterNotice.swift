internal import MigrationSystem

/// What testers tell the author beside their results.
enum TesterNotice {
  /// Says a sentence on standard error.
  static func say(_ sentence: String) { StandardStream.error.write("AppMigrationTester: \(sentence).\n") }
}
