import MigrationSystem
import MigrationWire

/// The apps of this device, and their data: PEER_HOME as docs/Apps.md describes it.
package final class AppHome: Sendable {
  /// What `list` found.
  package struct Listing: Sendable {
    /// By identifier.
    package var apps: [InstalledApp] = []
    /// Those whose bundles cannot be read any more.
    package var damaged: [Damaged] = []
  }

  /// An app whose bundle cannot be read any more.
  package struct Damaged: Sendable {
    package let identifier: String
    package let error: HostError
  }

  let files: HomeFiles

  /// Uses a directory, which is made if it is missing.
  package convenience init(home: [UInt8]) throws(HostError) {
    try self.init(home: home, observer: nil)
  }

  /// - Parameters:
  ///   - renaming: plain for a file system without the kernel's flags, or as if it were one.
  ///   - observer: called before each change, for tests.
  init(
    home: [UInt8], renaming: RenamingMeans = .preferred, observer: HomeFiles.Observer?
  ) throws(HostError) {
    let given = try Self.placing(home) { () throws(SystemError) in try Self.absolute(home) }
    try Self.check(given)
    let root = try Self.placing(home) { () throws(SystemError) in
      SharedDirectory(try Directory.openOrMake(home, mode: 0o700))
    }
    // The one that links lead to: paths are compared, and are given to apps.
    let canonical = try Self.placing(home) { () throws(SystemError) in try root.directory.canonicalPath() }
    try Self.check(canonical)
    files = HomeFiles(
      path: String(decoding: canonical, as: UTF8.self), root: root, renaming: renaming, observer: observer)
  }

  /// The directory's absolute path, without links.
  package var path: String { files.path }

  /// An app that is installed.
  package func app(_ identifier: String) throws(HostError) -> InstalledApp {
    guard AppName.isWellFormed(identifier), try isInstalled(identifier) else { throw .notInstalled(identifier) }
    return try InstalledApp(identifier, files)
  }

  /// An app that is installed, locked: nobody can put another version in its place any more.
  package func app(
    _ identifier: String, for use: AppLock.Use
  ) throws(HostError) -> (app: InstalledApp, lock: AppLock) {
    let lock = try app(identifier).lock(use)
    return (try app(identifier), lock)
  }

  /// Every app that is installed.
  package func list() throws(HostError) -> Listing { try listing(of: try namesInstalled()) }

  func listing(of names: [String]) throws(HostError) -> Listing {
    var listing = Listing()
    for identifier in names where AppName.isWellFormed(identifier) {
      do {
        listing.apps.append(try InstalledApp(identifier, files))
      } catch {
        listing.damaged.append(Damaged(identifier: identifier, error: error))
      }
    }
    return listing
  }

  private static func absolute(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    if path.first == UInt8(ascii: "/") { return path }
    return try Directory.open(".").canonicalPath() + [UInt8(ascii: "/")] + path
  }

  private static func placing<Result>(
    _ home: [UInt8], _ body: () throws(SystemError) -> Result
  ) throws(HostError) -> Result {
    do {
      return try body()
    } catch {
      throw HostError(
        .location, "apps cannot be kept in \(VisibleText.quoted(home))", hint: hint, name: home, cause: error)
    }
  }

  private static let hint =
    "Set PEER_HOME to a directory of your own whose path has only letters, digits and any of !$&'()*+,-./:;=@_~ in it."

  /// Fails unless a path is the same in a URL: apps make paths out of their URLs.
  private static func check(_ path: [UInt8]) throws(HostError) {
    let others = Array("!$&'()*+,-./:;=@_~".utf8)
    let stray = path.first { !AppName.isLetterOrDigit($0) && !others.contains($0) }
    guard let stray else { return }
    throw HostError(
      .location,
      "apps cannot be kept in \(VisibleText.quoted(path)), because \(VisibleText.quoted([stray])) is not the same in a URL",
      hint: hint, name: path)
  }
}

extension HostError {
  /// There is no such app.
  static func notInstalled(_ identifier: String) -> HostError {
    HostError(
      .notInstalled, "no app \(VisibleText.quoted(identifier)) is installed", hint: "'peer app list' shows which are.",
      name: Array(identifier.utf8))
  }
}
