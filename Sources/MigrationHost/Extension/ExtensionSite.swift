import MigrationSystem
import MigrationWire

/// Where an extension runs: the bundle that it is in, and the data that it is let at.
package struct ExtensionSite: Sendable {
  var bundle: AppBundle
  /// The extension of that bundle.
  private(set) var migrationExtension: AppBundle.Extension
  /// The home that it runs in: its scratch directory is there, and an importer may change modes and times there.
  let files: HomeFiles
  /// The absolute path of the container that is its home.
  var container: String
  /// The absolute paths of the groups of its entitlements; all of them are there.
  var groups: [String: String]
  /// The file that keeps how the last import ended.
  let status: String
  /// The extension has it as well, so that no other process uses the data while it lives; nil for data that is no app's.
  let lock: AppLock?
  /// Whether it is kept from everything that docs/Apps.md does not name. Without that a debugger can be attached to it.
  package var isConfined = true
  /// The path of the bundle that the app's author works on, if that is what is tried; nil for a user's app.
  var draft: [UInt8]?

  package var identifier: String { bundle.identifier }

  /// The same data under the same lock, for another edition of the app: its bundle takes the place of the one that is installed.
  ///
  /// - Parameter new: where empty groups are, for those that the app has not listed until now.
  func of(_ bundle: AppBundle, missing new: [String: String]) throws(HostError) -> ExtensionSite {
    var site = self
    site.bundle = bundle
    site.migrationExtension = try bundle.extensionToMigrate()
    site.groups = new
    for group in site.migrationExtension.groups {
      let place = AppHome.Folder.groups.place(group)
      if try files.kind(of: place) == .directory { site.groups[group] = files.path(place) }
    }
    return site
  }

  /// The absolute path of the directory for its temporary files.
  var scratch: String { files.path(scratchPlace) }

  /// The lock once more, for a process of the extension.
  func duplicateLock() throws(SystemError) -> Descriptor? {
    guard let lock else { return nil }
    return try lock.duplicate()
  }

  /// Makes an empty directory for its temporary files.
  func prepareScratch() throws(HostError) {
    try files.removeTree(scratchPlace)
    try files.makeDirectory(scratchPlace)
  }

  /// Removes what it left among its temporary files.
  func sweep() { try? files.removeTree(scratchPlace) }

  /// What keeps it in bounds here, said where it is not all that there should be; a lower-case clause.
  var weakness: String? {
    guard isConfined else { return "the app's extension is not confined: it may do what you may" }
    let missing = Confinement.Strength.full.subtracting(Confinement.strength)
    if missing.contains(.files) {
      return "this kernel has no Landlock: the app's extension is not kept from the user's other files"
    }
    if missing.contains(.calls) {
      return "this machine has no filter for system calls: the app's extension is not kept from the network"
    }
    if missing.contains(.attributes) {
      return
        "this user may not have mounts of his own: the app's extension is not kept from changing modes and times of "
        + "other files"
    }
    return nil
  }

  private var scratchPlace: String { "scratch/\(identifier)" }
}

extension AppHome {
  /// Takes an app for a migration, puts its data in order, and returns where its extension runs.
  func site(
    of identifier: String, observer: @Sendable (HostNews) -> Void
  ) throws(HostError) -> ExtensionSite {
    let (app, lock) = try appToMigrate(identifier)
    if try app.settle() { observer(.notice("an import that was interrupted has been undone")) }
    try app.prepareContainer()
    return try app.site(lock)
  }
}

extension InstalledApp {
  /// Where its extension runs while this lock is held; the container is prepared. Fails for an app that has none.
  package func site(_ lock: AppLock?) throws(HostError) -> ExtensionSite {
    let program = try bundle.extensionToMigrate()
    return ExtensionSite(
      bundle: bundle, migrationExtension: program, files: files, container: containerPath,
      groups: groupPaths(program.groups), status: statusPath, lock: lock)
  }
}
