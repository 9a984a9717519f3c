import MigrationSystem
import MigrationWire

/// Names that the destination treats as equal and staging does not, and names that decide an item's
/// class.
extension FolderImport {
  /// Whether the existing entry, which is listed at `real`, is another item of the archive, or is kept
  /// under another name. Then this item cannot be stored, regardless of how existing files are treated.
  mutating func hasRival(
    _ item: Item, _ occupant: ExistingEntry, _ real: ArchivePath
  ) throws(Failure) -> Bool {
    if real == item.target { return false }
    // The existing entry is kept. The sender, which knows it by another name, learns this.
    if existing == .skip, occupant.kind != .directory { return true }
    if besides.contains(real) { return true }
    guard let path = sibling(of: item.path, Array(real.name)) else { return false }
    return try isOfArchive(path)
  }

  /// Whether the user of this device takes an item, with all that it may hold, at a place.
  func isTaken(_ item: Item, at place: ArchivePath) -> Bool {
    guard let permit else { return true }
    return item.kind == .directory
      ? permit.allowsAll(at: place) : permit.allows(at: place, isLink: item.kind == .symbolicLink)
  }

  /// Records that an item of the archive has a name at the destination.
  mutating func noteArrival(at target: ArchivePath, of path: ArchivePath) {
    if target != home(of: path) { besides.insert(target) }
    if listed?.directory == target.parent { listed?.add(target.name) }
  }

  /// The name under which the directory lists the entry found at a path; nil if that cannot be
  /// determined.
  mutating func listedPath(of path: ArchivePath, _ occupant: ExistingEntry) throws(Failure) -> ArchivePath? {
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

  private mutating func list(_ path: ArchivePath, folding: Bool) throws(Failure) -> [[UInt8]]? {
    let directory = path.parent
    let names = try importing(path) { () throws(SystemError) in try destination.names(in: directory) }
    listed = ListedNames(names ?? [], in: directory, key: staging.journal.key, folding: folding)
    return names
  }

  private func path(_ name: [UInt8]?, beside path: ArchivePath) throws(Failure) -> ArchivePath? {
    guard let name else { return nil }
    return try? path.parent?.appending(name.span) ?? ArchivePath(name)
  }

  private func isThere(_ occupant: ExistingEntry, at path: ArchivePath) throws(Failure) -> Bool {
    let there = try importing(path) { () throws(SystemError) in try destination.occupant(at: path) }
    return there.map { ($0.device, $0.inode) == (occupant.device, occupant.inode) } ?? false
  }

  mutating func isOfArchive(_ path: ArchivePath) throws(Failure) -> Bool {
    if let archivePaths { return archivePaths.contains(path) }
    let all = try reading { try ArchivePaths(of: staging) }
    archivePaths = all
    return all.contains(path)
  }

  func reading<Result>(_ body: () throws -> Result) throws(Failure) -> Result {
    do {
      return try body()
    } catch {
      throw Failure(.importFailed, "the journal cannot be read", cause: error as? SystemError)
    }
  }

  /// The names in one directory of the destination, as it lists them. It may find an entry by other
  /// names, too: in another case, in another normalisation, by a short form.
  struct ListedNames {
    let directory: ArchivePath?
    private let key: UInt128
    private var hashes: Set<UInt64> = []
    /// The names by their forms without case and normalisation; nil if not requested.
    private var folded: [String: [UInt8]]?

    init(_ names: [[UInt8]], in directory: ArchivePath?, key: UInt128, folding: Bool = false) {
      self.directory = directory
      self.key = key
      folded = folding ? [:] : nil
      for name in names { add(name[...]) }
    }

    mutating func add(_ name: ArraySlice<UInt8>) {
      hashes.insert(hash(name))
      folded?[Self.fold(name)] = Array(name)
    }

    /// Whether the directory lists exactly this name.
    func contains(_ name: ArraySlice<UInt8>) -> Bool { hashes.contains(hash(name)) }

    /// A listed name that differs only in case or normalisation.
    func alike(_ name: ArraySlice<UInt8>) -> [UInt8]? { folded?[Self.fold(name)] }

    private func hash(_ name: ArraySlice<UInt8>) -> UInt64 {
      var hash = SipHash(key: key)
      hash.combine(name.span)
      return UInt64(truncatingIfNeeded: hash.finish())
    }

    private static func fold(_ name: ArraySlice<UInt8>) -> String {
      // Equal strings are equal in every normalisation.
      String(decoding: name, as: UTF8.self).uppercased().lowercased()
    }
  }

  /// The paths of an archive, including directories without a record, as hashes.
  struct ArchivePaths {
    private let key: UInt128
    private var hashes: Set<UInt64> = []

    init(of staging: Staging) throws {
      key = staging.journal.key
      var hashes: Set<UInt64> = []
      try staging.journal.forEach(upTo: staging.journal.position) { [key] _, claim in
        let path: ArchivePath
        if case .refused(let refused, _, _, _) = claim {
          // The source may have lost it since.
          guard staging.shared.withLock({ $0.ledger.refuses(path: refused) }) else { return }
          path = refused
        } else {
          // Of metadata alone, nothing is staged.
          guard let item = claim.completedItem, item.kind != .metadata,
            staging.shared.withLock({ $0.ledger.holds(item) })
          else { return }
          path = item.path
        }
        for place in path.lineage { hashes.insert(EarlierItems.hash(place, key)) }
      }
      self.hashes = hashes
    }

    func contains(_ path: ArchivePath) -> Bool { hashes.contains(EarlierItems.hash(path, key)) }
  }
}
