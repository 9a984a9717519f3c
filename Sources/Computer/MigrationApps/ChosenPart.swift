package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// One part of a plan, with its contents.
package struct ChosenPart: Sendable {
  package enum Contents: Equatable, Sendable {
    /// Items that arrive under their names.
    case folders([HomeItem])
    /// Folders of the role `home`.
    case home([HomeItem])
    /// An app with an extension, whose exporter makes the archive.
    case app(MovableApp)
    /// An app of files.
    case files(MovableApp, [HomeItem])
    /// An app whose settings of dconf are the only file.
    case settings(MovableApp, DesktopSettings)
  }

  package let contents: Contents
  /// For people, at most 255 bytes.
  package let name: String
  /// Selects the items of the places that are sent.
  package let selection: Selection
  /// The trees that were found when the places were measured, by the names of their roots.
  package let walked: [[UInt8]: SourceTree]

  init(app entry: Inventory.Entry, in inventory: Inventory) {
    guard let app = entry.app else { preconditionFailure("the entry is of an app") }
    let places = app.places.sorted { $0.root.lexicographicallyPrecedes($1.root) }
    contents =
      if let settings = app.settings { .settings(app, settings) } else {
        app.kind == .withExtension ? .app(app) : .files(app, places)
      }
    name = Part.name(of: [Array((app.name.isEmpty ? app.identifier : app.name).utf8)])
    selection = inventory.selection(for: places, of: app)
    walked = entry.walked
  }

  /// The part of some items; nil without items.
  init?(_ entries: [Inventory.Entry], _ contents: ([HomeItem]) -> Contents, in inventory: Inventory) {
    guard !entries.isEmpty else { return nil }
    let places = entries.flatMap(\.places).sorted { $0.root.lexicographicallyPrecedes($1.root) }
    self.contents = contents(places)
    name = Part.name(of: places.map(\.path))
    selection = inventory.selection(for: places)
    walked = entries.reduce(into: [:]) { $0.merge($1.walked) { $1 } }
  }

  /// The places, by their names in the archive; none for an app with an extension.
  package var places: [HomeItem] {
    switch contents {
    case .folders(let places), .home(let places), .files(_, let places): places
    case .app, .settings: []
    }
  }

  /// The contents on the wire, for the roots that were found. The source of an app with an extension
  /// makes its own.
  package func contents(_ roots: [Root]) -> Offer.Contents {
    switch contents {
    case .folders, .app: .folders(roots)
    case .home: .role(HomeFolder.role, roots)
    case .files(let app, _), .settings(let app, _): .files(of: app.identifier, roots)
    }
  }

  /// Opens the places in their home. Places in one directory share its descriptor, also with other
  /// parts.
  package func roots(
    in home: SharedDirectory, sharing parents: inout [[UInt8]: SharedDirectory]
  ) throws(Failure) -> [SourceRoot] {
    var roots: [SourceRoot] = []
    for place in places {
      roots.append(try place.source(in: home, sharing: &parents))
    }
    return roots
  }
}
