import MigrationSystem
import MigrationWire

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
  package func install(_ bundle: [UInt8]) throws(HostError) -> Installation {
    let source = try AppBundle(reading: bundle)
    let identifier = source.identifier
    let swept = try withCatalog { () throws(HostError) in
      let swept = try sweep()
      // Everything is checked again when no change is possible any more. This first check saves a
      // useless copy.
      try checkNeighbours(of: source)
      return swept
    }
    let lock = try AppLock.take(.installing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    let clipLock = try lockClip(of: source)
    defer { withExtendedLifetime(clipLock) {} }
    let draft = try withCatalog { () throws(HostError) in try Draft(in: files) }
    do {
      let copied = try copy(bundle, to: draft, as: source)
      var installation = try withCatalog { () throws(HostError) in
        try finishRemoval(of: identifier)
        try settleReplacing(of: identifier)
        try checkNeighbours(of: copied)
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
  ) throws(HostError) -> AppBundle {
    try files.makeDirectory("\(draft.place)/bundle")
    guard let target = try files.open("\(draft.place)/bundle") else {
      throw HostError(.storage, "\"\(files.path(draft.place))\" was removed meanwhile")
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

  private func publish(_ draft: borrowing Draft, as identifier: String) throws(HostError) -> Installation {
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
}

/// A bundle that is being copied, in a directory of its own that is locked as long as a process
/// works on it.
private struct Draft: ~Copyable {
  let place: String
  private let directory: SharedDirectory

  /// Creates the directory. Needs the catalog's lock, so that no process takes it for an abandoned
  /// one.
  init(in files: HomeFiles) throws(HostError) {
    let place = "apps/\(AppHome.draftPrefix)\(try InstalledApp.randomName())"
    try files.makeDirectory(place)
    guard let directory = try files.open(place) else {
      throw HostError(.storage, "\"\(files.path(place))\" was removed meanwhile")
    }
    _ = try HostError.wrapping(.storage, "\"\(files.path(place))\" cannot be locked") { () throws(SystemError) in
      try directory.directory.descriptor.lock()
    }
    self.place = place
    self.directory = directory
  }
}
