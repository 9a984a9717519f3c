import AppMigrationKit

/// What the app says at its first launch after a migration.
public enum Greeting {
  /// How the migration went; nil if there was none, or this was asked before.
  public static func afterMigration() -> String? {
    defer { MigrationStatus.clearImportStatus() }
    switch MigrationStatus.importStatus {
    case nil: return nil
    case .success: return "Welcome back! Your notes have moved to this device."
    case .failure(let error): return "Your notes could not be moved to this device: \(error.localizedDescription)"
    }
  }
}
