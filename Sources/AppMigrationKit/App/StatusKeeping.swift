internal import MigrationHost
internal import MigrationSystem

/// The storage of the status of an app's import.
protocol StatusKeeping: Sendable {
  func read() -> MigrationStatus?
  func clear()
}

/// The status of a real app, which `peer` writes.
struct StatusFile: StatusKeeping {
  let path: String

  func read() -> MigrationStatus? { ImportRecord.read(from: path).map { MigrationStatus($0) } }

  func clear() {
    do {
      try ImportRecord.clear(path)
    } catch {
      // Apple's method does not throw. Without this message, the app would show the same failure at
      // each launch.
      StandardStream.error.write("AppMigrationKit: the import's status cannot be cleared: \(error)\n")
    }
  }
}
