import MigrationSystem
import MigrationWire

/// Names that the destination takes for others, where staging tells them apart.
extension FolderImport {
  /// Whether what has the name of an item is another item of the archive, or may be, or stays there under another name: then this one cannot be stored, and what
  /// the user wants of existing files does not matter.
  mutating func hasRival(_ path: ArchivePath, _ occupant: Occupant) throws(ArchiveError) -> Bool {
    guard let real = try listedPath(of: path, occupant) else { return true }
    if real == path { return false }
    // What stays as it is has the name, and the sender, which knows it by another one, is told.
    if existing == .skip, occupant.kind != .directory { return true }
    if besides.contains(real) { return true }
    return try isOfArchive(real)
  }

  /// Something of the archive has a name at the destination from now on.
  mutating func noteArrival(at target: ArchivePath, of path: ArchivePath) {
    if target != path { besides.insert(target) }
    if listed?.directory == target.parent { listed?.add(target.name) }
  }

  /// Where the directory lists what it finds by a path; nil where that cannot be told.
  private mutating func listedPath(of path: ArchivePath, _ occupant: Occupant) throws(ArchiveError) -> ArchivePath? {
    if listed == nil || listed?.directory != path.parent {
      guard try list(path, folding: false) != nil else { return path }
    }
    if listed?.contains(path.name) == true { return path }
    if let known = try self.path(listed?.alike(path.name), beside: path), try isThere(occupant, at: known) {
      return known
    }
    // It is found by another name, or has just been made.
    guard let names = try list(path, folding: true) else { return path }
    if listed?.contains(path.name) == true { return path }
    if let known = try self.path(listed?.alike(path.name), beside: path) { return known }
    for name in names {
      if let known = try self.path(name, beside: path), try isThere(occupant, at: known) { return known }
    }
    return nil
  }

  private mutating func list(_ path: ArchivePath, folding: Bool) throws(ArchiveError) -> [[UInt8]]? {
    let directory = path.parent
    let names = try importing(path) { () throws(SystemError) in try destination.names(in: directory) }
    listed = ListedNames(names ?? [], in: directory, key: staging.journal.key, folding: folding)
    return names
  }

  private func path(_ name: [UInt8]?, beside path: ArchivePath) throws(ArchiveError) -> ArchivePath? {
    guard let name else { return nil }
    return try? path.parent?.appending(name.span) ?? ArchivePath(name)
  }

  private func isThere(_ occupant: Occupant, at path: ArchivePath) throws(ArchiveError) -> Bool {
    let there = try importing(path) { () throws(SystemError) in try destination.occupant(at: path) }
    return there.map { ($0.device, $0.inode) == (occupant.device, occupant.inode) } ?? false
  }

  private mutating func isOfArchive(_ path: ArchivePath) throws(ArchiveError) -> Bool {
    if let archivePaths { return archivePaths.contains(path) }
    do {
      let all = try ArchivePaths(of: staging)
      archivePaths = all
      return all.contains(path)
    } catch {
      throw ArchiveError(.importFailed, "the journal cannot be read", cause: error as? SystemError)
    }
  }
}
