package import MigrationWire

/// Whether an app can be migrated, and takes the data that another device offers.
extension AppHome {
  /// The installed app that takes the data of this one: the same one, or one of which it is another
  /// edition.
  package func appAccepting(_ identity: AppIdentity) throws(Failure) -> InstalledApp {
    do {
      return try app(identity.bundleIdentifier)
    } catch {
      guard error.code == .notInstalled, let other = try list().apps.first(where: { $0.accepts(identity) }) else {
        throw error
      }
      return other
    }
  }

  /// Takes an app for a migration; a clip, or an app without a migration extension, cannot be
  /// migrated.
  func appToMigrate(_ identifier: String) throws(Failure) -> (app: InstalledApp, lock: AppLock) {
    do {
      // Before the lock: if this fails, a running app is not the cause.
      _ = try app(identifier).bundle.extensionToMigrate()
      let found = try app(identifier, for: .migrating)
      _ = try found.app.bundle.extensionToMigrate()
      return found
    } catch {
      guard error.code == .notInstalled, let app = try successor(of: identifier) else { throw error }
      throw .clipIsNotMigrated(identifier, app: app.identifier, isReplaced: true)
    }
  }
}

extension InstalledApp {
  /// Whether data belongs to this app, or to an edition that it accepts as its own.
  fileprivate func accepts(_ identity: AppIdentity) -> Bool {
    if identity.bundleIdentifier == identifier { return true }
    return bundle.aliases.contains {
      $0.bundleIdentifier == identity.bundleIdentifier && $0.store == identity.store
        && $0.platform == identity.platform
    }
  }

  /// Fails if data that is offered is not this app's, or if the app has data that is not replaced.
  func checkAcceptance(of identity: AppIdentity, _ options: AppImporter.Options) throws(Failure) {
    let isDraft = options.draft != nil
    guard accepts(identity) else {
      throw Failure(
        .otherApp,
        "the other device offers the data of \(VisibleText.of(identity.bundleIdentifier)), and that of "
          + "\(identifier) is expected here",
        hint: isDraft ? "Name a bundle of the same app with --to, or one whose PeerAliases list that app." : nil,
        name: Array(identity.bundleIdentifier.utf8))
    }
    if !options.replaces, try Self.importing({ () throws(Failure) in try holdsData }) {
      throw Failure(
        .appHasData, "\(identifier) has data on the receiving device already",
        hint: isDraft
          ? DataHint.appHasDataInTrial.text
          : DataHint.replacing(options.isOfEverything ? "--everything" : "--app \(identifier)"),
        name: Array(identifier.utf8))
    }
  }

  /// An operation of an import: its failure is the import's.
  static func importing<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    do { return try body() } catch { throw error.coded(error.code == .noSpace ? .noSpace : .importFailed) }
  }
}
