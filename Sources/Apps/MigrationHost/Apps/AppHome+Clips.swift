import MigrationSystem
package import MigrationWire

/// A clip and its app: once both are installed and name each other, the clip counts as removed, and
/// is removed.
///
/// This rule alone also settles a replacement that a crash interrupted: each command that asks for
/// an app, a clip or the list checks for the pair.
extension AppHome {
  /// A clip that was removed because its app has replaced it.
  package struct Replacement: Equatable, Sendable {
    package let clip: String
    /// The groups that only the clip had, and that were removed with it.
    package let groups: [String]
  }

  /// The app that has replaced a clip, or would replace it: it is installed and names the clip. Nil
  /// if there is none.
  package func successor(of clip: String) throws(Failure) -> InstalledApp? {
    try Self.listing(of: try namesInstalled(), in: files).apps.first { $0.bundle.role == .app(clip: clip) }
  }

  /// Why an app or a clip is not installed.
  func missing(_ identifier: String) throws(Failure) -> Failure {
    let listing = try Self.listing(of: try namesInstalled(), in: files)
    let general = Failure.notInstalled(identifier)
    if let app = listing.apps.first(where: { $0.bundle.role == .app(clip: identifier) }) {
      return Failure(
        .notInstalled, "the clip \(identifier) is not installed: its app \(app.identifier) has replaced it",
        hint: "Name '\(app.identifier)'.", name: general.name, as: .usage)
    }
    if let clip = listing.apps.first(where: { $0.bundle.role == .clip(of: identifier) }) {
      return Failure(
        .notInstalled, general.description,
        hint: "Its clip is installed, \(clip.identifier): 'peer app install' replaces it with the full app.",
        name: general.name, as: .usage)
    }
    return general
  }

  /// Checks whether an app and its clip are both installed, and then removes the clip.
  ///
  /// - Returns: whether this one is to stay.
  func settleReplacement(around app: InstalledApp) throws(Failure) -> Bool {
    switch app.bundle.role {
    case .app(nil): return true
    case .app(let clip?):
      var isThere = try files.kind(of: Self.place(clip)) != nil
      if try files.kind(of: Self.removal(clip)) != nil { isThere = true }
      // If the removal fails now, the clip still counts as removed.
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

  /// Removes the rest of a clip that its app has replaced, unless another process is removing it.
  func finishReplacement(of clip: String) throws(Failure) {
    guard let lock = try? AppLock.take(.removing, of: clip, in: files) else { return }
    defer { withExtendedLifetime(lock) {} }
    try withCatalog { () throws(Failure) in
      if try catalog().outgoing.contains(clip) { _ = try removeClip(clip) }
    }
  }

  /// Removes a clip, or the rest of one after a crash. Needs its lock and the catalog's lock; nil
  /// if nothing of it exists.
  func removeClipIfThere(_ clip: String) throws(Failure) -> Replacement? {
    guard try files.kind(of: Self.place(clip)) != nil else { return nil }
    return try removeClip(clip)
  }

  /// Removes a clip and its own data. Groups that only the clip listed are removed by the general
  /// rule. Needs its lock and the catalog's lock.
  func removeClip(_ clip: String) throws(Failure) -> Replacement {
    var groups = try finishRemoval(of: clip)
    if try files.kind(of: Self.place(clip)) != nil {
      try files.move(Self.place(clip), to: Self.removal(clip))
      groups += try finishRemoval(of: clip)
    }
    try AppLock.remove(clip, in: files)
    return Replacement(clip: clip, groups: groups)
  }

  /// Takes the lock of the clip that an app is about to replace, so that the clip cannot be
  /// started; nil if the app names none.
  func lockClip(of bundle: AppBundle) throws(Failure) -> AppLock? {
    guard case .app(let clip?) = bundle.role else { return nil }
    do {
      return try AppLock.take(.installing, of: clip, in: files, called: "clip")
    } catch {
      guard error.code == .appInUse else { throw error }
      let hint = error.hint ?? "Wait until that has ended."
      throw Failure(
        .appInUse,
        "the bundle cannot be installed: '\(ClipEntitlement.file)': \(ClipEntitlement.clip): \(error.description)",
        hint: hint, name: error.name,
        fault: BundleFault(
          file: Array(ClipEntitlement.file.utf8), key: ClipEntitlement.clip, reason: error.description, hint: hint))
    }
  }
}

extension AppHome.Listing {
  /// Removes the clips whose apps are installed as well from the list.
  ///
  /// - Parameter names: all names in the catalog.
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
