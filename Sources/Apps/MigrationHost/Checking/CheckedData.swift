import MigrationArchive
import MigrationSystem
import MigrationWire

/// The data for an author's trial of an extension.
package enum CheckedData: Equatable, Sendable {
  /// The data of the installed app.
  case installed
  /// A directory that replaces the container; its groups are empty.
  case directory([UInt8])
  /// An empty container and groups, as a new app finds them.
  case empty
}

/// The place of a trial: the site of the extension's bundle, and the data to remove afterwards.
final class CheckSite: Sendable {
  let site: ExtensionSite
  let data: CheckedData
  private let home: TemporaryHome

  /// Uses a given container, or the data of the app if it is installed in `home`, under its lock.
  convenience init(
    _ bundle: AppBundle, home: [UInt8], container: [UInt8]?, observer: @Sendable (HostNews) -> Void
  ) throws(Failure) {
    try self.init(bundle) { (site) throws(Failure) in
      if let container {
        site.container = try Self.path(of: container)
        return .directory(container)
      }
      guard let installed = try Self.installed(bundle, home, observer) else { return .empty }
      site = try installed.of(bundle, missing: site.groups)
      return .installed
    }
  }

  /// Uses the data of the app of which the bundle is another edition. The app must be installed
  /// there.
  convenience init(
    _ bundle: AppBundle, installedIn home: AppHome, observer: @Sendable (HostNews) -> Void
  ) throws(Failure) {
    let installed = try home.site(of: bundle.identifier, observer: observer)
    try self.init(bundle) { (site) throws(Failure) in
      site = try installed.of(bundle, missing: site.groups)
      return .installed
    }
  }

  /// `choose` puts the data into an empty site.
  private init(
    _ bundle: AppBundle, choosing choose: (inout ExtensionSite) throws(Failure) -> CheckedData
  ) throws(Failure) {
    var site: ExtensionSite
    (home, site) = try Self.empty(bundle)
    do {
      data = try choose(&site)
    } catch {
      home.remove()
      throw error
    }
    site.draft = bundle.path
    self.site = site
  }

  deinit { clear() }

  /// Removes the created data. For a program that may end before this object is deallocated.
  func clear() {
    site.sweep()
    home.remove()
  }

  /// An empty container and groups, as a new app finds them.
  private static func empty(_ bundle: AppBundle) throws(Failure) -> (TemporaryHome, ExtensionSite) {
    let home = try TemporaryHome(prefix: "peer-check-", hint: "Set TMPDIR to a directory elsewhere.")
    do {
      let new = InstalledApp(bundle, in: try AppHome(home: home.path).files)
      try new.prepareContainer()
      return (home, try new.site(nil))
    } catch {
      home.remove()
      throw error
    }
  }

  /// The site of the app with the same identifier; nil if there is none. A missing home is not
  /// created.
  private static func installed(
    _ bundle: AppBundle, _ home: [UInt8], _ observer: @Sendable (HostNews) -> Void
  ) throws(Failure) -> ExtensionSite? {
    guard let apps = try AppHome.ifThere(home) else { return nil }
    do {
      return try apps.site(of: bundle.identifier, observer: observer)
    } catch {
      guard error.code == .notInstalled else { throw error }
      return nil
    }
  }

  private static func path(of container: [UInt8]) throws(Failure) -> String {
    let name = VisibleText.quoted(container)
    let path = try Failure.wrapping(
      .source, "the container \(name) cannot be opened", hint: "Name a directory that you may read.", name: container,
      Directory.open(container).canonicalPath())
    guard let stray = AppHome.firstStray(in: path) else { return String(decoding: path, as: UTF8.self) }
    throw Failure(
      .unfitApp, "\(name) cannot be a container, because URLs must encode \(VisibleText.quoted([stray]))",
      hint: "Copy it to a path that has only letters, digits and any of !$&'()*+,-./:;=@_~ in it.", name: container)
  }
}
