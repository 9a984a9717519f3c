import MigrationSystem
package import MigrationWire

/// The place where an extension runs: its bundle, and the data that it may access.
package struct ExtensionSite: Sendable {
  var bundle: AppBundle
  /// The extension of that bundle.
  private(set) var migrationExtension: AppBundle.Extension
  /// The files of the apps for its run: its scratch directory is there, and an importer may change
  /// modes and times there.
  let files: HomeFiles
  /// The absolute path of the container that is its home.
  var container: String
  /// The absolute paths of the groups in its entitlements; all of them exist.
  var groups: [String: String]
  /// The file with the result of the last import.
  let status: String
  /// The lock of the data, which the extension holds too: no other process uses the data while it
  /// runs. Nil for data that belongs to no app.
  let lock: AppLock?
  /// Whether it is confined as docs/Apps.md describes. Without confinement a debugger
  /// can be attached to it.
  package var isConfined = true
  /// How a confined extension is kept from changing modes, owners and times of other files.
  var attributeGuard = Confinement.usualGuard
  /// The path of the author's bundle, in a trial; nil for a user's app.
  var draft: [UInt8]?

  package var identifier: String { bundle.identifier }

  /// The same data under the same lock, for another edition of the app: its bundle replaces the
  /// installed one.
  ///
  /// - Parameter new: the paths of empty groups, for those that the app has not listed until now.
  func of(_ bundle: AppBundle, missing new: [String: String]) throws(Failure) -> ExtensionSite {
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

  /// A duplicate of the lock, for a process of the extension.
  func duplicateLock() throws(SystemError) -> Descriptor? {
    guard let lock else { return nil }
    return try lock.duplicate()
  }

  /// Creates an empty directory for its temporary files.
  func prepareScratch() throws(Failure) {
    try files.removeTree(scratchPlace)
    try files.makeDirectory(scratchPlace)
  }

  /// Removes its temporary files.
  func sweep() { try? files.removeTree(scratchPlace) }

  /// The missing parts of its confinement on this machine, as a lower-case clause; nil if it is
  /// complete.
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
        "this machine lets no program watch another's calls: the app's extension is not kept from changing modes "
        + "and times of other files"
    }
    return nil
  }

  private var scratchPlace: String { "scratch/\(identifier)" }

  /// The most items that are looked at, which takes a second or two.
  private static let mostItems: UInt64 = 1_000_000

  /// Calls `body` with the name and the type of each item in the container and the extension's
  /// groups, except `tmp` and the links to the groups' preferences, until it returns false. A file
  /// system may not report types.
  func forEachItem(_ body: (_ name: [UInt8], FileKind?) -> Bool) {
    var count: UInt64 = 0
    var isOver = false
    var pending = [container] + groups.values
    let settings = "\(container)/.config"
    while let path = pending.popLast(), !isOver {
      guard let directory = try? Directory.open(path) else { continue }
      try? directory.forEachEntry { (name, kind) throws(SystemError) in
        let name = [UInt8](copying: name)
        let place = "\(path)/\(String(decoding: name, as: UTF8.self))"
        if place == "\(container)/tmp" || path == settings && kind == .symbolicLink { return true }
        count += 1
        if kind == .directory { pending.append(place) }
        isOver = !body(name, kind) || count >= Self.mostItems
        return !isOver
      }
    }
  }

  /// The number of items with data, counted by names only: an estimate of the number of exported
  /// items, which only the exporter knows.
  func dataCount(isStopped: () -> Bool) -> UInt64 {
    var count: UInt64 = 0
    forEachItem { _, kind in
      if kind != .directory { count += 1 }
      return !isStopped()
    }
    return count
  }

  /// The items other than directories in the extension's groups, by their paths after the group's
  /// identifier, each with the time of its last change.
  var itemsInGroups: [String: Timestamp] {
    var items: [String: Timestamp] = [:]
    for (group, place) in groups {
      Self.walk(beneath: place) { path, status in
        let rest = path.dropFirst(place.utf8.count)
        if status.kind != .directory { items[group + String(decoding: rest, as: UTF8.self)] = status.changed }
        return items.count < Self.mostInGroups
      }
    }
    return items
  }

  /// Calls `body` with the path and the status of each item below a directory, until it returns false.
  private static func walk(beneath path: String, _ body: (_ path: [UInt8], FileStatus) -> Bool) {
    var pending = [Array(path.utf8)]
    var isOver = false
    while let path = pending.popLast(), !isOver {
      guard let directory = try? Directory.open(path) else { continue }
      try? directory.forEachEntry { (name, _) throws(SystemError) in
        let (place, status) = (path + [UInt8(ascii: "/")] + [UInt8](copying: name), try directory.status(name))
        if status.kind == .directory { pending.append(place) }
        isOver = !body(place, status)
        return !isOver
      }
    }
  }

  private static let mostInGroups = 100_000

  /// A notice for the author of an importer that has failed, and whose items stay in its groups; nil
  /// if none do. `before` are the items before the import.
  func notice(onLeftInGroups before: [String: Timestamp]) -> String? {
    let left = itemsInGroups.filter { before[$0.key] != $0.value }.keys.sorted()
    guard !left.isEmpty else { return nil }
    let names = left.prefix(3).map { VisibleText.quoted(Array($0.utf8)) }.joined(separator: ", ")
    return "the importer of \(identifier) has failed and left \(Figures.count(UInt64(left.count), "item")) in its "
      + "groups, which nothing empties: \(names)"
  }

  /// The files that an exporter has left in its scratch directory. Small files are the purpose of the
  /// directory; a copy of the data takes space that the old device may not have.
  struct ScratchGrowth: Equatable {
    /// The size up to which no notice is due: 1 MiB on the disk.
    static let unremarkable: UInt64 = 1 << 20
    /// The most items that are counted, which takes less than a second.
    private static let most: UInt64 = 100_000

    private(set) var items: UInt64 = 0
    /// On the disk.
    private(set) var bytes: UInt64 = 0

    /// Counts the contents of a directory.
    init(beneath path: String) {
      ExtensionSite.walk(beneath: path) { _, status in
        items += 1
        bytes += UInt64(max(0, status.allocatedBytes))
        return items < Self.most
      }
    }

    /// A notice for the author; nil if none is due.
    func notice(of app: String) -> String? {
      guard bytes > Self.unremarkable else { return nil }
      return
        "the extension of \(app) has left \(Figures.count(items, "item")) in its temporary directory, "
        + "\(Figures.size(bytes)): files that are appended unchanged need no copy"
    }
  }
}

extension AppHome {
  /// Takes an app for a migration, makes its data consistent, and returns the site of its
  /// extension.
  func site(
    of identifier: String, observer: @Sendable (HostNews) -> Void
  ) throws(Failure) -> ExtensionSite {
    let (app, lock) = try appToMigrate(identifier)
    if try app.settle() { observer(.notice("an import that was interrupted has been undone")) }
    try app.prepareContainer()
    return try app.site(lock)
  }
}

extension InstalledApp {
  /// The site of its extension while this lock is held; the container is prepared. Fails for an app
  /// without an extension.
  package func site(_ lock: AppLock?) throws(Failure) -> ExtensionSite {
    let program = try bundle.extensionToMigrate()
    return ExtensionSite(
      bundle: bundle, migrationExtension: program, files: files, container: containerPath,
      groups: groupPaths(program.groups), status: statusPath, lock: lock)
  }
}
