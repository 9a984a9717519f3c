import MigrationSystem
package import MigrationWire

extension AppHome {
  /// An app with consistent data, locked for running.
  package struct Started: Sendable {
    package let app: InstalledApp
    /// The lock for the app's process.
    package let lock: AppLock
    /// Whether an interrupted import had to be undone first.
    package let hasUndoneImport: Bool
    /// The requested clip, if this is the app that has replaced it.
    package var replacedClip: String?
  }

  /// How often an import may be interrupted while the app is being started.
  private static let mostTries = 5

  /// Makes an app's data consistent and locks it, so that the app can be started. For a clip that
  /// its app has replaced, starts the app.
  package func start(_ identifier: String) throws(Failure) -> Started {
    do {
      return try startItself(identifier)
    } catch {
      guard error.code == .notInstalled, let app = try successor(of: identifier) else { throw error }
      var started = try startItself(app.identifier)
      started.replacedClip = identifier
      return started
    }
  }

  private func startItself(_ identifier: String) throws(Failure) -> Started {
    var hasUndoneImport = false
    for _ in 0..<Self.mostTries {
      if try app(identifier).isUnsettled {
        let (app, lock) = try app(identifier, for: .migrating)
        defer { withExtendedLifetime(lock) {} }
        if try app.settle() { hasUndoneImport = true }
      }
      // Between the two locks another migration may have begun and died.
      let (app, lock) = try app(identifier, for: .running)
      guard try !app.isUnsettled else { continue }
      try app.prepareContainer()
      return Started(app: app, lock: lock, hasUndoneImport: hasUndoneImport)
    }
    throw Failure(
      .appInUse, "the data of \(identifier) is being migrated repeatedly", hint: "Wait until that is done.",
      name: Array(identifier.utf8))
  }
}
