import MigrationSystem
import MigrationWire

/// The data on which an author tries an extension.
package enum CheckedData: Equatable, Sendable {
  /// That of the app, which is installed.
  case installed
  /// A directory that takes the container's place; its groups are empty.
  case directory([UInt8])
  /// A container and groups as a new app finds them.
  case empty
}

/// Where an extension is tried: the site of its bundle, and what has to be cleared away behind it.
final class CheckedPlace: Sendable {
  let site: ExtensionSite
  let data: CheckedData
  private let home: TemporaryHome

  /// Takes the data: a container that is named, or that of the app if it is installed in `home`, under its lock.
  init(
    _ bundle: AppBundle, home: [UInt8], container: [UInt8]?, observer: @Sendable (HostNews) -> Void
  ) throws(HostError) {
    self.home = try TemporaryHome()
    do {
      let new = InstalledApp(bundle, in: try AppHome(home: self.home.path).files)
      try new.prepareContainer()
      var site = new.site(nil)
      if let container {
        site.container = try Self.path(of: container)
        data = .directory(container)
      } else if let installed = try Self.installed(bundle, home, observer) {
        site = try Self.site(of: bundle, on: installed, missing: site)
        data = .installed
      } else {
        data = .empty
      }
      self.site = site
    } catch {
      self.home.remove()
      throw error
    }
  }

  deinit {
    site.sweep()
    home.remove()
  }

  /// The site of the app with the same identifier; nil if there is none. A home that is missing is not made.
  private static func installed(
    _ bundle: AppBundle, _ home: [UInt8], _ observer: @Sendable (HostNews) -> Void
  ) throws(HostError) -> ExtensionSite? {
    guard (try? Directory.open(home)) != nil else { return nil }
    let apps = try AppHome(home: home)
    do {
      return try apps.site(of: bundle.identifier, observer: observer)
    } catch {
      guard error.code == .notInstalled else { throw error }
      return nil
    }
  }

  /// The bundle in the place of the one that is installed. Groups that the app has not listed until now are empty ones.
  private static func site(
    of bundle: AppBundle, on installed: ExtensionSite, missing new: ExtensionSite
  ) throws(HostError) -> ExtensionSite {
    var site = installed
    site.bundle = bundle
    site.groups = new.groups
    for group in bundle.migrationExtension.groups {
      let place = AppHome.Folder.groups.place(group)
      if try installed.files.kind(of: place) == .directory { site.groups[group] = installed.files.path(place) }
    }
    return site
  }

  private static func path(of container: [UInt8]) throws(HostError) -> String {
    let name = VisibleText.quoted(container)
    let path: [UInt8]
    do {
      path = try Directory.open(container).canonicalPath()
    } catch {
      throw HostError(
        .source, "the container \(name) cannot be opened", hint: "Name a directory that you may read.",
        name: container, cause: error)
    }
    guard let stray = AppHome.firstStray(in: path) else { return String(decoding: path, as: UTF8.self) }
    throw HostError(
      .location, "\(name) cannot be a container, because \(VisibleText.quoted([stray])) is not the same in a URL",
      hint: "Copy it to a path that has only letters, digits and any of !$&'()*+,-./:;=@_~ in it.", name: container)
  }
}
