import MigrationArchive
import MigrationSystem
package import MigrationWire

/// An item of a home: its name in the archive, which is a key in a part with keys, and its path
/// relative to the home.
package struct HomeItem: Equatable, Sendable {
  package let root: [UInt8]
  package let path: [UInt8]
  package let kind: ItemKind
  /// The item's absolute path, if `path` is a link that is followed, or is not in the home.
  package var target: [UInt8]?

  /// Opens the item in a home. Items in one directory share its descriptor.
  func source(
    in home: SharedDirectory, sharing parents: inout [[UInt8]: SharedDirectory]
  ) throws(Failure) -> SourceRoot {
    guard let target else { return try SourceRoot(path, beneath: home, as: root, sharing: &parents) }
    let (folder, name) = FileContent.split(target)
    let directory = try Failure.wrapping(
      .source, "the source \(VisibleText.quoted(target)) cannot be read", name: target, Directory.open(folder))
    return try SourceRoot(name, beneath: SharedDirectory(directory), as: root)
  }
}

/// The measured size of the items that move.
package struct EntrySize: Equatable, Sendable {
  package var tally: Tally
  /// The files' space on a disk.
  package var allocated: UInt64

  package init(_ tally: Tally, allocated: UInt64) {
    self.tally = tally
    self.allocated = allocated
  }

  /// Both together.
  package func adding(_ other: EntrySize) -> EntrySize {
    let sum = Tally(bytes: allocated).adding(Tally(bytes: other.allocated)).bytes
    return EntrySize(tally.adding(other.tally), allocated: sum)
  }
}

/// An app whose data can move.
package struct MovableApp: Equatable, Sendable {
  package enum Kind: String, Sendable {
    /// Its author wrote an extension.
    case withExtension = "extension"
    case flatpak
    /// A description names its files.
    case described
    /// A description names its keys of dconf.
    case settings
  }

  package let kind: Kind
  package let identifier: String
  /// For people.
  package let name: String
  /// The files, by key; empty for an app with an extension.
  package let places: [HomeItem]
  /// The patterns of the items that do not move, relative to each file.
  package let exclusions: [[UInt8]]
  package let hasSecrets: Bool
  /// Whether its data is this device's identity: two devices with the data would disturb each other.
  package let isIdentity: Bool
  /// The identifiers of apps without whose data a part of this data is lost.
  package let needs: [String]
  /// Nil until it is measured.
  package let size: EntrySize?
  /// The program that uses the data now, for people.
  package let inUse: String?
  /// The settings, for an app of that kind.
  package let settings: DesktopSettings?

  package init(
    _ kind: Kind, identifier: String, name: String, places: [HomeItem] = [], exclusions: [[UInt8]] = [],
    hasSecrets: Bool = false, isIdentity: Bool = false, needs: [String] = [], size: EntrySize? = nil,
    inUse: String? = nil, settings: DesktopSettings? = nil
  ) {
    self.settings = settings
    self.kind = kind
    self.identifier = identifier
    self.name = name
    self.places = places
    self.exclusions = exclusions
    self.hasSecrets = hasSecrets
    self.isIdentity = isIdentity
    self.needs = needs
    self.size = size
    self.inUse = inUse
  }
}
