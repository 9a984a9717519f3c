internal import MigrationSystem

/// The notices of testers to the author, besides their results.
enum TesterNotice {
  /// Writes a sentence to standard error.
  static func say(_ sentence: String) { StandardStream.error.write("AppMigrationTester: \(sentence).\n") }
}
