import MigrationArchive
import MigrationSystem
package import MigrationWire

extension AppHome {
  /// An app that has just been installed.
  package struct Installation: Sendable {
    package let app: InstalledApp
    /// The version that it replaced; nil if there was none, or none that was readable.
    package let previousVersion: String?
    /// The clip that the app has replaced; nil if none was installed.
    package var replacement: Replacement?
  }

  /// Installs an app from its bundle, or replaces the installed version; its data is kept.
  ///
  /// Every process sees the whole old version or the whole new one, even after a power loss. An app
  /// replaces its clip: once the app is published, the clip counts as removed, and the next command
  /// removes the rest of it.
  package func install(_ bundle: [UInt8]) throws(Failure) -> Installation {
    let source = try AppBundle(reading: bundle)
    let identifier = source.identifier
    let swept = try withCatalog { () throws(Failure) in
      let swept = try sweep()
      // Everything is checked again when no change is possible any more. This first check saves a
      // useless copy.
      try checkConflicts(of: source)
      return swept
    }
    let lock = try AppLock.take(.installing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    let clipLock = try lockClip(of: source)
    defer { withExtendedLifetime(clipLock) {} }
    let draft = try withCatalog { () throws(Failure) in try Draft(in: files) }
    do {
      let copied = try copy(bundle, to: draft, as: source)
      var installation = try withCatalog { () throws(Failure) in
        try finishRemoval(of: identifier)
        try settleReplacing(of: identifier)
        try checkConflicts(of: copied)
        try claimGroups(of: copied)
        var installation = try publish(draft, as: identifier)
        // Under the same lock: only a process after a crash sees both.
        if case .app(let clip?) = copied.role { installation.replacement = try removeClipIfThere(clip) }
        return installation
      }
      installation.replacement = installation.replacement ?? swept.first { .app(clip: $0.clip) == copied.role }
      // Its contents are not needed; if the removal fails now, the next installation removes it.
      try? files.removeTree(draft.place)
      return installation
    } catch {
      try? files.removeTree(draft.place)
      throw error
    }
  }

  private func copy(
    _ bundle: [UInt8], to draft: borrowing Draft, as source: AppBundle
  ) throws(Failure) -> AppBundle {
    try files.makeDirectory("\(draft.place)/bundle")
    guard let target = try files.open("\(draft.place)/bundle") else {
      throw Failure(.failed, "\"\(files.path(draft.place))\" was removed meanwhile")
    }
    try BundleFiles(bundle).copy(to: target)
    // The copy counts, regardless of later changes of the source.
    let copied = try AppBundle(reading: Array(files.path("\(draft.place)/bundle").utf8))
    guard copied.identifier == source.identifier, copied.role == source.role else {
      throw .bundle("Info.plist", "it changed while it was copied")
    }
    try files.change("synchronize", draft.place) { () throws(SystemError) in
      try target.directory.descriptor.synchronizeFileSystem()
    }
    return copied
  }

  private func publish(_ draft: borrowing Draft, as identifier: String) throws(Failure) -> Installation {
    let place = "apps/\(identifier)"
    var previousVersion: String?
    if try files.kind(of: place) == nil {
      try files.move(draft.place, to: place)
    } else {
      previousVersion = (try? InstalledApp(identifier, files))?.bundle.version
      try replace(place, with: draft.place, of: identifier)
    }
    return Installation(app: try InstalledApp(identifier, files), previousVersion: previousVersion)
  }

  static let formerPrefix = ".former-"

  /// Moves a draft to an app's place, and the old version, if there is one, to the draft's place.
  /// Needs the catalog's lock.
  func replace(_ place: String, with draft: String, of identifier: String) throws(Failure) {
    if try files.exchange(draft, with: place) { return }
    let former = Self.former(identifier)
    try files.move(place, to: former)
    try files.move(draft, to: place)
    try files.removeTree(former)
  }

  /// Completes a `replace` that a crash interrupted. Needs the catalog's lock.
  func settleReplacing(of identifier: String) throws(Failure) {
    let former = Self.former(identifier)
    guard AppName.isWellFormed(identifier), try files.kind(of: former) != nil else { return }
    if try files.kind(of: Self.place(identifier)) == nil {
      try files.move(former, to: Self.place(identifier))
    } else {
      try files.removeTree(former)
    }
  }

  /// Whether an app is installed; an app that a crash has left without its place is moved back.
  func isInstalled(_ identifier: String) throws(Failure) -> Bool {
    if try files.kind(of: Self.place(identifier)) != nil { return true }
    guard try files.kind(of: Self.former(identifier)) != nil else {
      // Another process may have just moved it to its place.
      return try files.kind(of: Self.place(identifier)) != nil
    }
    // Another process may be replacing it, and hold the lock.
    try withCatalog { () throws(Failure) in try settleReplacing(of: identifier) }
    return try files.kind(of: Self.place(identifier)) != nil
  }

  /// The names in the catalog, after apps without their places were moved back.
  func namesInstalled() throws(Failure) -> [String] {
    let names = try files.names(in: "apps")
    let former = names.filter { $0.hasPrefix(Self.formerPrefix) }
    guard !former.isEmpty else { return names }
    return try withCatalog { () throws(Failure) in
      for name in former { try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count))) }
      return try files.names(in: "apps")
    }
  }

  static func place(_ identifier: String) -> String { Folder.apps.place(identifier) }
  private static func former(_ identifier: String) -> String { "apps/\(formerPrefix)\(identifier)" }

  /// Removes an app or a clip with its data. A group's directory is removed with the last app that
  /// lists the group; the directory of a group that belongs to a clip and its app is removed with
  /// these.
  ///
  /// If the removal is interrupted, the app is removed already, and the next installation or
  /// removal removes the rest.
  package func remove(_ identifier: String) throws(Failure) {
    try withCatalog { () throws(Failure) in _ = try sweep() }
    guard AppName.isWellFormed(identifier), try isInstalled(identifier) else { throw try missing(identifier) }
    let lock = try AppLock.take(.removing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    try withCatalog { () throws(Failure) in
      // Its app may have replaced a clip meanwhile.
      guard try files.kind(of: Self.place(identifier)) != nil else { throw try missing(identifier) }
      try files.move(Self.place(identifier), to: Self.removal(identifier))
      try finishRemoval(of: identifier)
      try AppLock.remove(identifier, in: files)
    }
  }

  /// The place of an app that is being removed.
  static func removal(_ identifier: String) -> String { Folder.apps.place("\(removalPrefix)\(identifier)") }

  /// Removes the rest of an app that is being removed. Needs its lock and the catalog's lock.
  ///
  /// - Returns: the groups that were removed with it.
  @discardableResult
  func finishRemoval(of identifier: String) throws(Failure) -> [String] {
    let place = Self.removal(identifier)
    guard try files.kind(of: place) != nil else { return [] }
    for folder in ["containers", "replaced", "staging", "trash"] { try files.removeTree("\(folder)/\(identifier)") }
    for place in InstalledApp.earlierData(of: identifier, in: files) { try files.removeTree(place) }
    // Earlier versions counted the starts of an app in a file.
    let records = [
      "statuses/\(identifier).json", "statuses/\(identifier).starts", "imports/\(identifier).mark",
      "imports/\(identifier).room",
    ]
    for file in records {
      try files.remove(file)
      // A crash may have left this file.
      try files.remove("\(file).new")
    }
    let groups = try removeGroups(of: identifier, at: place)
    try files.removeTree(place)
    return groups
  }

  /// A bundle that is being copied, in a directory of its own that is locked as long as a process
  /// works on it.
  private struct Draft: ~Copyable {
    let place: String
    private let directory: SharedDirectory

    /// Creates the directory. Needs the catalog's lock, so that no process takes it for an abandoned
    /// one.
    init(in files: HomeFiles) throws(Failure) {
      let place = "apps/\(AppHome.draftPrefix)\(try InstalledApp.randomName())"
      try files.makeDirectory(place)
      guard let directory = try files.open(place) else {
        throw Failure(.failed, "\"\(files.path(place))\" was removed meanwhile")
      }
      _ = try Failure.wrapping(
        .failed, "\"\(files.path(place))\" cannot be locked", directory.directory.descriptor.lock())
      self.place = place
      self.directory = directory
    }
  }
}
