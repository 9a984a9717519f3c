import MigrationSystem
import MigrationWire

/// What imports that were killed were about to place in several steps, as far as the journal's survey keeps it.
struct EarlierPlacing: Sendable {
  /// Whether the journal tells of any.
  private(set) var isAny = false
  /// Where in the journal what was said of a path before was taken back.
  private var withdrawn: [ArchivePath: UInt64] = [:]

  mutating func note(_ path: ArchivePath, _ target: ArchivePath?, at position: UInt64) {
    isAny = true
    if target == nil { withdrawn[path] = position }
  }

  /// Whether what the journal says of a path at a position still counts.
  func counts(_ path: ArchivePath, at position: UInt64) -> Bool { withdrawn[path].map { position > $0 } ?? true }
}

/// Ends what an import that was killed had begun to place.
extension FolderImport {
  /// Takes away what was only claimed, and lets what has both names keep the one at the destination.
  func settleEarlierPlacing() throws(ArchiveError) {
    let earlier = staging.shared.withLock { $0.earlierPlacing }
    guard earlier.isAny else { return }
    do {
      try staging.journal.forEach(upTo: staging.journal.position) { position, record in
        guard case .placing(let path, let target?) = record, earlier.counts(path, at: position) else { return }
        try settle(path, at: target)
      }
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.importFailed, "the journal cannot be read", cause: error as? SystemError)
    }
  }

  private func settle(_ path: ArchivePath, at target: ArchivePath) throws(ArchiveError) {
    do {
      // An item that is not staged any more has arrived.
      guard let item = try destination.occupant(ofStaged: path), let there = try destination.occupant(at: target)
      else { return }
      switch item.kind {
      case .directory:
        // One that is not empty is not removed.
        if there.kind == .directory { try destination.release(target, isDirectory: true) }
      default:
        if try hasBothNames(path, item, target, there) {
          try staged.remove(path)
        } else if there.kind == .regular, there.size == 0 {
          try destination.release(target, isDirectory: false)
        }
      }
    } catch {
      guard error.isNotEmpty || error.isNotFound || error.isNotDirectory else { throw failed(path, error) }
    }
  }

  /// Whether a file or link that is still staged has its name at the destination already. On some file systems each name has
  /// an inode number of its own.
  private func hasBothNames(
    _ path: ArchivePath, _ item: Occupant, _ target: ArchivePath, _ there: Occupant
  ) throws(SystemError) -> Bool {
    if there.isSame(as: item) { return true }
    // An empty file may be a claim, and is as well gone.
    guard there.kind == .symbolicLink || there.size > 0 else { return false }
    return try destination.isCopy(of: path, at: target)
  }
}
