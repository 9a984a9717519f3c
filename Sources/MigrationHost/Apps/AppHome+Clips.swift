import MigrationSystem
import MigrationWire

/// The clip and its app: once both are there, each naming the other, the clip counts as gone, and goes.
///
/// That is all that settles what a crash has left of a replacement: each command that asks for an app, a clip or the list looks
/// for the pair.
extension AppHome {
  /// A clip that was removed because its app has taken its place.
  package struct Replacement: Equatable, Sendable {
    package let clip: String
    /// The groups that only the clip had, and that went with it.
    package let groups: [String]
  }

  /// The app that has taken a clip's place, or would: it is installed and names the clip. Nil if there is none.
  package func successor(of clip: String) throws(HostError) -> InstalledApp? {
    try Self.listing(of: try namesInstalled(), in: files).apps.first { $0.bundle.role == .app(clip: clip) }
  }

  /// Takes an app for a migration, which no clip is good for, and neither is an app without a migration extension.
  func appToMigrate(_ identifier: String) throws(HostError) -> (app: InstalledApp, lock: AppLock) {
    do {
      // Before the lock: that the app runs is not what is wrong then.
      _ = try app(identifier).bundle.extensionToMigrate()
      let found = try app(identifier, for: .migrating)
      _ = try found.app.bundle.extensionToMigrate()
      return found
    } catch {
      guard error.code == .notInstalled, let app = try successor(of: identifier) else { throw error }
      throw .clipIsNotMigrated(identifier, app: app.identifier, isReplaced: true)
    }
  }

  /// Why there is no such app, or clip.
  func missing(_ identifier: String) throws(HostError) -> HostError {
    let listing = try Self.listing(of: try namesInstalled(), in: files)
    let general = HostError.notInstalled(identifier)
    if let app = listing.apps.first(where: { $0.bundle.role == .app(clip: identifier) }) {
      return HostError(
        .notInstalled, "the clip \(identifier) is not installed: its app \(app.identifier) has taken its place",
        hint: "Name '\(app.identifier)'.", name: general.name)
    }
    if let clip = listing.apps.first(where: { $0.bundle.role == .clip(of: identifier) }) {
      return HostError(
        .notInstalled, general.description,
        hint: "Its clip is, \(clip.identifier): 'peer app install' puts the full app in the clip's place.",
        name: general.name)
    }
    return general
  }

  /// Looks whether an app and its clip are both there, and removes the clip then.
  ///
  /// - Returns: whether this one is to stay.
  func settleReplacement(around app: InstalledApp) throws(HostError) -> Bool {
    switch app.bundle.role {
    case .app(nil): return true
    case .app(let clip?):
      var isThere = try files.kind(of: Self.place(clip)) != nil
      if try files.kind(of: Self.removal(clip)) != nil { isThere = true }
      // What cannot be removed just now counts as gone all the same.
      if isThere { try? finishReplacement(of: clip) }
      return true
    case .clip(let parent):
      guard try files.kind(of: Self.place(parent)) != nil, let successor = try? InstalledApp(parent, files),
        successor.bundle.role == .app(clip: app.identifier)
      else { return true }
      try? finishReplacement(of: app.identifier)
      return false
    }
  }

  /// Removes what is left of a clip whose app has taken its place; leaves it to another process that is at it.
  func finishReplacement(of clip: String) throws(HostError) {
    guard let lock = try? AppLock.take(.removing, of: clip, in: files) else { return }
    defer { withExtendedLifetime(lock) {} }
    try withCatalog { () throws(HostError) in
      if try catalog().outgoing.contains(clip) { _ = try removeClip(clip) }
    }
  }

  /// Removes a clip, or what a crash has left of that. Under its lock and the catalog's; nil if there is nothing of it.
  func removeClipIfThere(_ clip: String) throws(HostError) -> Replacement? {
    guard try files.kind(of: Self.place(clip)) != nil else { return nil }
    return try removeClip(clip)
  }

  /// Removes a clip and its own data. What only the clip listed goes by the rule of every removal. Under its lock and the
  /// catalog's.
  func removeClip(_ clip: String) throws(HostError) -> Replacement {
    var groups = try finishRemoval(of: clip)
    if try files.kind(of: Self.place(clip)) != nil {
      try files.move(Self.place(clip), to: Self.removal(clip))
      groups += try finishRemoval(of: clip)
    }
    return Replacement(clip: clip, groups: groups)
  }

  /// Takes the lock of the clip whose place an app is to take, so that the clip cannot be started; nil if it names none.
  func lockClip(of bundle: AppBundle) throws(HostError) -> AppLock? {
    guard case .app(let clip?) = bundle.role else { return nil }
    do {
      return try AppLock.take(.installing, of: clip, in: files, called: "clip")
    } catch {
      guard error.code == .inUse else { throw error }
      let hint = error.hint ?? "Wait until that is over."
      throw HostError(
        .inUse,
        "the bundle cannot be installed: '\(ClipEntitlement.file)': \(ClipEntitlement.clip): \(error.description)",
        hint: hint, name: error.name,
        fault: BundleFault(
          file: Array(ClipEntitlement.file.utf8), key: ClipEntitlement.clip, reason: error.description, hint: hint))
    }
  }
}

extension AppHome.Listing {
  /// Takes out the clips whose apps are there as well.
  ///
  /// - Parameter names: all that is in the catalog.
  mutating func takeOutgoing(_ names: [String]) {
    var apps: [String: String] = [:]
    for app in self.apps {
      if case .app(let clip?) = app.bundle.role { apps[clip] = app.identifier }
    }
    for name in names where name.hasPrefix(AppHome.removalPrefix) {
      let clip = String(name.dropFirst(AppHome.removalPrefix.count))
      if apps[clip] != nil { outgoing.append(clip) }
    }
    self.apps.removeAll { app in
      guard case .clip(let parent) = app.bundle.role, apps[app.identifier] == parent else { return false }
      if !outgoing.contains(app.identifier) { outgoing.append(app.identifier) }
      return true
    }
  }
}
