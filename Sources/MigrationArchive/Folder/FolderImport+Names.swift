import MigrationSystem
import MigrationWire

/// Names that the destination treats as equal and staging does not.
extension FolderImport {
  /// Whether the existing entry is, or may be, another item of the archive, or is kept under
  /// another name. Then this item cannot be stored, regardless of how existing files are treated.
  mutating func hasRival(_ path: ArchivePath, _ occupant: Occupant) throws(ArchiveError) -> Bool {
    guard let real = try listedPath(of: path, occupant) else { return true }
    if real == path { return false }
    // The entry that has the name is kept, and the sender, which knows it by another name, learns
    // this.
    if existing == .skip, occupant.kind != .directory { return true }
    if besides.contains(real) { return true }
    return try isOfArchive(real)
  }

  /// Records that an item of the archive has a name at the destination.
  mutating func noteArrival(at target: ArchivePath, of path: ArchivePath) {
    if target != path { besides.insert(target) }
    if listed?.directory == target.parent { listed?.add(target.name) }
  }

  /// The name under which the directory lists the entry found at a path; nil if that cannot be
  /// determined.
  private mutating func listedPath(of path: ArchivePath, _ occupant: Occupant) throws(ArchiveError) -> ArchivePath? {
    if listed == nil || listed?.directory != path.parent {
      guard try list(path, folding: false) != nil else { return path }
    }
    if listed?.contains(path.name) == true { return path }
    if let known = try self.path(listed?.alike(path.name), beside: path), try isThere(occupant, at: known) {
      return known
    }
    // The entry is found by another name, or has just been created.
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
    let all = try reading { try ArchivePaths(of: staging) }
    archivePaths = all
    return all.contains(path)
  }

  func reading<Result>(_ body: () throws -> Result) throws(ArchiveError) -> Result {
    do {
      return try body()
    } catch {
      throw ArchiveError(.importFailed, "the journal cannot be read", cause: error as? SystemError)
    }
  }
}
