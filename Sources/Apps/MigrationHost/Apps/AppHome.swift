import MigrationArchive
import MigrationSystem
package import MigrationWire

/// The apps of this device and their data: PEER_HOME, as described in docs/Apps.md.
package final class AppHome: Sendable {
  /// The result of `list`.
  package struct Listing: Sendable {
    /// By identifier.
    package var apps: [InstalledApp] = []
    /// The apps whose bundles have become unreadable.
    package var damaged: [Damaged] = []
    /// Clips that their apps have replaced and that a crash has left in part. They count as
    /// removed.
    var outgoing: [String] = []
  }

  /// An app whose bundle has become unreadable.
  package struct Damaged: Sendable {
    package let identifier: String
    package let error: Failure
  }

  let files: HomeFiles

  /// Uses a directory; creates it if it is missing.
  package convenience init(home: [UInt8]) throws(Failure) {
    try self.init(home: home, observer: nil)
  }

  /// Uses a directory; nil, without creating it, if it is missing.
  package static func ifThere(_ home: [UInt8]) throws(Failure) -> AppHome? {
    do {
      _ = try Directory.open(home)
    } catch {
      // The code below finds the reason of any other failure.
      if error.isNotFound { return nil }
    }
    return try AppHome(home: home)
  }

  /// - Parameters:
  ///   - renaming: plain for a file system without the kernel's flags, or for tests of one.
  ///   - observer: called before each change, for tests.
  init(
    home: [UInt8], renaming: Directory.RenameMethod = .preferred, observer: HomeFiles.Observer?
  ) throws(Failure) {
    files = try Self.files(of: home, renaming: renaming, observer: observer) { (path) throws(SystemError) in
      SharedDirectory(try Directory.openOrMake(path, mode: 0o700))
    }
  }

  /// The directory's absolute path, without links.
  package var path: String { files.path }

  /// An installed app or clip.
  package func app(_ identifier: String) throws(Failure) -> InstalledApp {
    guard AppName.isWellFormed(identifier), try isInstalled(identifier) else { throw try missing(identifier) }
    let app = try InstalledApp(identifier, files)
    guard try settleReplacement(around: app) else { throw try missing(identifier) }
    return app
  }

  /// An installed app, locked: no other process can replace its version any more.
  package func app(
    _ identifier: String, for use: AppLock.Use
  ) throws(Failure) -> (app: InstalledApp, lock: AppLock) {
    let lock = try app(identifier).lock(use)
    return (try app(identifier), lock)
  }

  /// All installed apps and clips.
  package func list() throws(Failure) -> Listing {
    let listing = try Self.listing(of: try namesInstalled(), in: files)
    // If the removal fails now, the clip still counts as removed.
    for clip in listing.outgoing { try? finishReplacement(of: clip) }
    return listing
  }

  /// The installed apps, without any change: a missing directory is not created, no lock is waited
  /// for, and the remains of a crash are kept. An app that is without its place at this moment is
  /// not listed.
  package static func glance(at home: [UInt8]) throws(Failure) -> Listing {
    let files = try files(of: home) { (path) throws(SystemError) in SharedDirectory(try Directory.open(path)) }
    return try listing(of: try files.names(in: "apps"), in: files)
  }

  static func listing(of names: [String], in files: HomeFiles) throws(Failure) -> Listing {
    var listing = Listing()
    for identifier in names where AppName.isWellFormed(identifier) {
      do {
        listing.apps.append(try InstalledApp(identifier, files))
      } catch {
        listing.damaged.append(Damaged(identifier: identifier, error: error))
      }
    }
    listing.takeOutgoing(names)
    return listing
  }

  /// The files in a directory, which must be suitable for apps.
  private static func files(
    of home: [UInt8], renaming: Directory.RenameMethod = .preferred, observer: HomeFiles.Observer? = nil,
    opening: ([UInt8]) throws(SystemError) -> SharedDirectory
  ) throws(Failure) -> HomeFiles {
    let given = try placing(home) { () throws(SystemError) in try absolute(home) }
    try check(given)
    let root = try placing(home) { () throws(SystemError) in try opening(home) }
    // The target of all links: paths are compared, and given to apps.
    let canonical = try placing(home) { () throws(SystemError) in try root.directory.canonicalPath() }
    try check(canonical)
    return HomeFiles(
      path: String(decoding: canonical, as: UTF8.self), root: root, renaming: renaming, observer: observer)
  }

  private static func absolute(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    if path.first == UInt8(ascii: "/") { return path }
    return try Directory.open(".").canonicalPath() + [UInt8(ascii: "/")] + path
  }

  private static func placing<Result>(
    _ home: [UInt8], _ body: () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    try Failure.wrapping(
      .unfitApp, "apps cannot be kept in \(VisibleText.quoted(home))", hint: hint, name: home, body())
  }

  private static let hint =
    "Set PEER_HOME to a directory of your own whose path has only letters, digits and any of !$&'()*+,-./:;=@_~ in it."

  /// Fails if a path changes in a URL: apps make paths from their URLs.
  package static func check(_ path: [UInt8], hint: String? = nil) throws(Failure) {
    guard let stray = firstStray(in: path) else { return }
    throw Failure(
      .unfitApp,
      "apps cannot be kept in \(VisibleText.quoted(path)), because URLs must encode \(VisibleText.quoted([stray]))",
      hint: hint ?? Self.hint, name: path)
  }

  /// The first byte of a path that changes in a URL.
  static func firstStray(in path: [UInt8]) -> UInt8? {
    let others = Array("!$&'()*+,-./:;=@_~".utf8)
    return path.first { !$0.isLetterOrDigit && !others.contains($0) }
  }

  static let draftPrefix = ".installing-"
  static let removalPrefix = ".removing-"

  /// Runs a closure while no other process can change the set of installed apps.
  func withCatalog<Result: ~Copyable>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try files.makeDirectory("apps")
    guard let apps = try files.open("apps") else {
      throw Failure(.failed, "\"\(files.path("apps"))\" was removed meanwhile")
    }
    _ = try Failure.wrapping(
      .failed, "\"\(files.path("apps"))\" cannot be locked", apps.directory.descriptor.lock(nonBlocking: false))
    defer { withExtendedLifetime(apps) {} }
    return try body()
  }

  /// The installed apps, read under the catalog's lock: including apps that a crash has left
  /// without their places.
  func catalog() throws(Failure) -> Listing {
    let names = try files.names(in: "apps")
    let former = names.filter { $0.hasPrefix(Self.formerPrefix) }
    for name in former { try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count))) }
    return try Self.listing(of: former.isEmpty ? names : try files.names(in: "apps"), in: files)
  }

  /// Removes the remains of installations and removals that a crash interrupted, and of clips whose
  /// apps have replaced them.
  ///
  /// - Returns: the clips that were removed, with the groups that were removed with each.
  @discardableResult
  func sweep() throws(Failure) -> [Replacement] {
    for name in try files.names(in: "apps") {
      if name.hasPrefix(Self.draftPrefix) {
        guard let draft = try files.open("apps/\(name)"), (try? draft.directory.descriptor.lock()) == true else {
          continue
        }
        try files.removeTree("apps/\(name)")
      } else if name.hasPrefix(Self.removalPrefix) {
        let identifier = String(name.dropFirst(Self.removalPrefix.count))
        guard let lock = try? AppLock.take(.removing, of: identifier, in: files) else { continue }
        defer { withExtendedLifetime(lock) {} }
        try finishRemoval(of: identifier)
        try AppLock.remove(identifier, in: files)
      } else if name.hasPrefix(Self.formerPrefix) {
        try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count)))
      }
    }
    var replacements: [Replacement] = []
    for clip in try catalog().outgoing {
      guard let lock = try? AppLock.take(.removing, of: clip, in: files) else { continue }
      defer { withExtendedLifetime(lock) {} }
      replacements.append(try removeClip(clip))
    }
    try sweepGroups()
    return replacements
  }

  /// The directories in PEER_HOME that belong to apps. Most contain an entry for each app, under
  /// its identifier.
  package enum Folder: String, CaseIterable, Sendable {
    case apps
    case containers
    case groups
    case statuses
    case imports
    case staging
    case replaced
    case earlier
    case trash
    case locks

    /// The place of an entry in it.
    func place(_ name: String) -> String { "\(rawValue)/\(name)" }
  }
}

extension Failure {
  /// The app is not installed.
  package static func notInstalled(_ identifier: String) -> Failure {
    Failure(
      .notInstalled, "no app \(VisibleText.quoted(identifier)) is installed", hint: "'peer app list' shows which are.",
      name: Array(identifier.utf8), as: .usage)
  }
}
