import MigrationSystem
import MigrationWire

extension AppHome {
  /// An app that was just installed.
  package struct Installation: Sendable {
    package let app: InstalledApp
    /// The version that it replaced; nil if there was none, or none that could be read.
    package let previousVersion: String?
  }

  /// Installs an app from its bundle, or puts another version in the place of the one that is there; its data stays.
  ///
  /// Whoever looks sees the whole old version or the whole new one, also after a power loss.
  package func install(_ bundle: [UInt8]) throws(HostError) -> Installation {
    let identifier = try AppBundle(reading: bundle).identifier
    try withCatalog { () throws(HostError) in try sweep() }
    let lock = try AppLock.take(.installing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    let draft = try withCatalog { () throws(HostError) in try Draft(in: files) }
    do {
      try copy(bundle, to: draft, as: identifier)
      let installation = try withCatalog { () throws(HostError) in
        try finishRemoval(of: identifier)
        try settleReplacing(of: identifier)
        return try publish(draft, as: identifier)
      }
      // Nobody needs what is in it; what cannot be removed now, the next one removes.
      try? files.removeTree(draft.place)
      return installation
    } catch {
      try? files.removeTree(draft.place)
      throw error
    }
  }

  private func copy(_ bundle: [UInt8], to draft: borrowing Draft, as identifier: String) throws(HostError) {
    try files.makeDirectory("\(draft.place)/bundle")
    guard let target = try files.open("\(draft.place)/bundle") else {
      throw HostError(.storage, "\"\(files.path(draft.place))\" was removed meanwhile")
    }
    try BundleFiles(bundle).copy(to: target)
    // What counts is what was copied, whatever became of the source meanwhile.
    guard try AppBundle(reading: Array(files.path("\(draft.place)/bundle").utf8)).identifier == identifier else {
      throw .bundle("Info.plist", "it changed while it was copied")
    }
    try files.change("synchronize", draft.place) { () throws(SystemError) in
      try target.directory.descriptor.synchronizeFileSystem()
    }
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

/// A bundle that is being copied, in a directory of its own that is locked as long as somebody works on it.
private struct Draft: ~Copyable {
  let place: String
  private let directory: SharedDirectory

  /// Makes the directory. Under the catalog's lock, so that nobody takes it for one that was left.
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
