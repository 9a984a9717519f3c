import MigrationSystem
package import MigrationWire

/// Where the roots of a part arrive: a path below the destination for each key, or for each name in
/// one folder there.
package struct RootDestinations: Equatable, Sendable {
  private let places: [[UInt8]: ArchivePath]
  private let folder: ArchivePath?

  /// Throws if a place is not a path below the destination, or is reserved for staging.
  package init(_ places: [String: [UInt8]]) throws(Failure) {
    var checked: [[UInt8]: ArchivePath] = [:]
    for (key, place) in places {
      guard let path = try? ArchivePath(place), !Staging.isName(Array(path.root)) else {
        throw Failure(
          .unfit, "\(VisibleText.quoted(place)) cannot be the place of \(VisibleText.quoted(Array(key.utf8)))",
          name: place)
      }
      checked[Array(key.utf8)] = path
    }
    self.places = checked
    folder = nil
  }

  /// Each root keeps its name, in a folder of the destination.
  init(within folder: ArchivePath) {
    places = [:]
    self.folder = folder
  }

  /// The place of a root; nil if this device has none for it.
  subscript(_ root: some Sequence<UInt8>) -> ArchivePath? {
    guard let folder else { return places[Array(root)] }
    return try? folder.appending(Array(root).span)
  }

  /// The place of each key.
  var all: [[UInt8]: [UInt8]] { places.mapValues(\.bytes) }

  /// The place of an item of the archive.
  package func place(of path: [UInt8]) -> [UInt8] {
    let root = path.prefix { $0 != UInt8(ascii: "/") }
    return self[root].map { $0.bytes + path[root.endIndex...] } ?? path
  }

  /// Whether the places of two roots overlap.
  func overlaps(_ root: [UInt8]) -> Bool {
    guard let place = places[root] else { return false }
    return places.contains { $0.key != root && ($0.value.isWithin(place) || place.isWithin($0.value)) }
  }

  /// An entry on the way to a place: its type and its mount.
  typealias Look = (kind: FileKind, mount: MountIdentity)

  /// Why nothing can arrive at a place.
  struct Hindrance: Equatable {
    /// The path of the obstacle: the place, or a folder above it.
    let path: ArchivePath
    /// A clause about it.
    let clause: String
    /// Whether it may be a folder of another disk.
    let isElsewhere: Bool
    let isLink: Bool

    fileprivate init(_ path: ArchivePath, _ clause: String, isElsewhere: Bool = true, isLink: Bool = false) {
      self.path = path
      self.clause = "\(VisibleText.quoted(path)) \(clause)"
      self.isElsewhere = isElsewhere
      self.isLink = isLink
    }
  }

  /// Why nothing can arrive at a place; nil if it can be used, or made. `look` finds an entry of the destination,
  /// without following links.
  static func hindrance(
    at place: ArchivePath, isDirectory: Bool, mount: MountIdentity, _ look: (ArchivePath) throws(SystemError) -> Look?
  ) throws(SystemError) -> Hindrance? {
    for path in place.lineage {
      guard let there = try look(path) else { return nil }
      switch there.kind {
      case .directory where there.mount.device != mount.device:
        return Hindrance(path, "is on another file system")
      case .directory where there.mount != mount:
        return Hindrance(path, "is a mount point")
      case .directory: continue
      // A file can arrive beside another one.
      case .regular where path == place && !isDirectory, .symbolicLink where path == place && !isDirectory:
        return nil
      case .symbolicLink:
        return Hindrance(path, "is a link, and leads to no folder of yours on the disk of this directory", isLink: true)
      case .regular, .fifo, .socket, .blockDevice, .characterDevice:
        return Hindrance(path, "is not a folder", isElsewhere: false)
      }
    }
    return nil
  }
}

extension FolderImporter {
  /// The place of a root at the destination; nil if this device has none for it.
  func place(of root: [UInt8]) -> ArchivePath? {
    guard let places else { return try? ArchivePath(root) }
    return places[root]
  }

  /// The roots that cannot arrive, by their positions, with the reasons: their places are unknown,
  /// or something else is there. Writes nothing.
  package func unplaceable(_ roots: [Root]) throws(Failure) -> [(root: Int, reason: Failure)] {
    guard let places else { return [] }
    let directory = area.destination.directory
    var found: [(root: Int, reason: Failure)] = []
    for (index, root) in roots.enumerated() {
      let name = VisibleText.quoted(root.name)
      guard let place = places[root.name] else {
        let hint = "Leave it out on the other device, or install the current peer here."
        let reason = Failure(.unfit, "this device has no place for \(name)", hint: hint, name: root.name)
        found.append((index, reason))
        continue
      }
      do throws(SystemError) {
        let mount = try directory.directory.mount()
        let hindrance = try RootDestinations.hindrance(at: place, isDirectory: root.kind == .directory, mount: mount) {
          (path) throws(SystemError) in
          let parent = try DirectoryDisk.directory(of: path, in: directory)
          guard try !parent.directory.isFree(path.name) else { return nil }
          let (status, mount) = try parent.directory.mountedStatus(path.name)
          return (status.kind, mount)
        }
        if let hindrance { found.append((index, error(hindrance, at: place, name: root.name))) }
      } catch {
        found.append((index, Failure(.unfit, "\(name) cannot arrive", name: root.name, cause: error)))
      }
    }
    return found
  }

  /// Where a folder of another disk is, its room there, and the command that takes it there.
  private func error(_ hindrance: RootDestinations.Hindrance, at place: ArchivePath, name: [UInt8]) -> Failure {
    var (clause, hint) = (hindrance.clause, DataHint.noFolder.text)
    if hindrance.isElsewhere, let base = try? area.destination.directory.directory.canonicalPath(),
      let folder = try? Directory.open(base + [UInt8(ascii: "/")] + hindrance.path.bytes),
      let path = try? folder.canonicalPath()
    {
      let rest = place.bytes.dropFirst(hindrance.path.bytes.count)
      hint = DataHint.otherDisk(at: VisibleText.listed(path + rest))
      if hindrance.isLink {
        let isInside = path.starts(with: base + [UInt8(ascii: "/")])
        clause =
          "\(VisibleText.quoted(hindrance.path)) is a link to \(VisibleText.quoted(path)), which is "
          + (isInside ? "no folder of yours on this disk" : "outside of this directory")
      }
      if let space = try? FileSystemSpace.of(folder.descriptor) {
        clause += " (\(Figures.size(space.availableBytes)) free there)"
      }
    }
    return Failure(
      .unfit, "nothing can arrive at \(VisibleText.quoted(place)): \(clause)", hint: hint, name: name)
  }

  /// Fails if no root can arrive, or if one root would replace items of another one.
  func checkPlaces(of roots: [Root], _ existing: Existing) throws(Failure) {
    guard let places else { return }
    let unplaceable = try unplaceable(roots)
    if let first = unplaceable.first, unplaceable.count == roots.count { throw first.reason }
    guard existing.replacesFiles || existing == .setAside,
      let root = roots.first(where: { places.overlaps($0.name) })
    else { return }
    throw Failure(
      .unfit, "the place of \(VisibleText.quoted(root.name)) is that of another folder too", name: root.name)
  }
}
