import MigrationHost

/// What there is to say of an app: what it is, how its last import ended, and who uses it.
struct AppState: Equatable, Sendable {
  /// An import that has not ended.
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

  /// Whether an import has not ended, and how that is.
  var unfinished: Unfinished? {
    guard hasUnfinishedImport else { return nil }
    return holder == nil ? .interrupted : .goingOn
  }
}

extension AppState {
  /// Looks at an app, without being in anybody's way.
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
