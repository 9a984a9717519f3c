import AppMigrationKit

/// The app's greeting at its first launch after a migration.
public enum Greeting {
  /// The result of the migration; nil if there was none, or if the app has read the result before.
  public static func afterMigration() -> String? {
    defer { MigrationStatus.clearImportStatus() }
    switch MigrationStatus.importStatus {
    case nil: return nil
    case .success: return "Welcome back! Your notes have moved to this device."
    case .failure(let error): return "Your notes could not be moved to this device: \(error.localizedDescription)"
    }
  }
}
