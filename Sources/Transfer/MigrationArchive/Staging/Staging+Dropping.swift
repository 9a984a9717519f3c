import MigrationSystem
import MigrationWire

/// Staged data that the source no longer has.
extension Staging {
  /// Removes the items that the sender has reported as no longer existing in the source, except those
  /// that it could not look at. Returns the sum of these: FINISH does not count them.
  func removeDropped(in places: any StagingTree, keeping kept: UnreadableSource) throws -> ArchiveSum {
    var besides = ArchiveSum()
    let (dropped, unvouched) = shared.withLock { ($0.dropped.union($0.ledger.unvouched), $0.ledger.unvouched) }
    guard !dropped.isEmpty else { return besides }
    var stale: [ItemRecord] = []
    var untrue: [JournalRecord] = []
    var gone: [ArchivePath] = []
    try journal.forEach(upTo: journal.position) { position, record in
      if case .refused(let path, let generation, _, _) = record {
        let mark = keys.mark(path: path, generation: generation)
        guard dropped.contains(mark) else { return }
        shared.withLock { $0.ledger.dropRefused(mark) }
        gone.append(path)
        untrue.append(.void(at: position))
      }
      guard let item = record.completedItem else { return }
      shared.withLock { shared in
        let mark = shared.ledger.mark(item)
        guard dropped.contains(mark), shared.ledger.holds(item) else { return }
        if !unvouched.contains(mark), kept.covers(item.path) {
          // A record may be in the journal twice.
          guard shared.dropped.remove(mark) != nil else { return }
          besides.total = besides.total.adding(Tally(items: 1, bytes: item.size))
          besides.digest &+= mark
          return
        }
        shared.ledger.drop(item)
        stale.append(item.bare)
      }
    }
    try Failure.wrapping(
      .storage, "the journal cannot be written", journal.append(stale.map { .discarded($0.path) } + untrue))
    for item in stale {
      switch item.body {
      // A directory is removed when it is empty; a hard link has not been created yet.
      case .directory, .hardLink, .metadata: break
      case .file, .symbolicLink: try remove(item.path, in: places)
      }
    }
    try removeEmptied(stale.map(\.path) + gone, in: places)
    return besides
  }

  /// Removes the item at a path, of any type.
  func remove(_ path: ArchivePath, in places: any StagingTree) throws(Failure) {
    try SystemError.mapped(places.remove(path)) { Failure("removing", path, $0) }
  }

  /// Removes the empty directories at and above these paths that the archive does not contain.
  func removeEmptied(_ gone: [ArchivePath], in places: any StagingTree) throws(Failure) {
    var candidates = Set(gone)
    for path in gone {
      var parent = path.parent
      while let directory = parent, candidates.insert(directory).inserted { parent = directory.parent }
    }
    let nameless = shared.withLock { shared in candidates.filter { !shared.ledger.hasDirectory($0) } }
    let byDepth = nameless.sorted { ($0.depth, $0) > ($1.depth, $1) }
    let storability = Storability(staging: self, places: places)
    for directory in byDepth {
      do {
        // The path leads to another item's directory under another name.
        if abilities.foldsNames, try storability.foldedPlace(directory) != nil { continue }
        _ = try places.removeIfEmpty(directory)
      } catch {
        throw Failure("removing", directory, error)
      }
    }
  }
}

/// The items that a source could not read in its newest session. Their earlier data is not stale: a
/// disk that fails has perhaps the only other copy.
package struct UnreadableSource: Sendable {
  private var places: [ArchivePath] = []
  private var isAll = false

  package init() {}

  /// - Parameter isAll: whether it is not known which paths these are.
  package init(_ paths: [[UInt8]], isAll: Bool) {
    places = paths.compactMap { try? ArchivePath($0) }
    self.isAll = isAll
  }

  func covers(_ path: ArchivePath) -> Bool { isAll || places.contains { path.isWithin($0) } }
}
