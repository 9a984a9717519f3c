import MigrationHost

/// The state of an app: its identity, the result of its last import, and the process that uses it.
struct AppState: Equatable, Sendable {
  /// The state of an unfinished import.
  enum Unfinished: String {
    case goingOn
    case interrupted
  }

  var identifier: String
  var version: String
  var name: String?
  var store = ""
  var record: ImportRecord?
  /// Whether an import has begun and not ended.
  var hasUnfinishedImport = false
  var holder: AppLock.Holder?
  var role = AppBundle.Role.app(clip: nil)
  var hasExtension = true

  /// The state of an unfinished import; nil if there is none.
  var unfinished: Unfinished? {
    guard hasUnfinishedImport else { return nil }
    return holder == nil ? .interrupted : .goingOn
  }
}

extension AppState {
  /// Reads an app's state without waiting for locks.
  init(_ app: InstalledApp) throws(HostError) {
    identifier = app.identifier
    version = app.bundle.version
    name = app.bundle.displayName
    store = app.bundle.store
    holder = try app.holder()
    hasUnfinishedImport = try app.unfinishedImport != nil
    record = app.importRecord
    role = app.bundle.role
    hasExtension = app.bundle.migrationExtension != nil
  }
}
