import MigrationSystem
import MigrationWire

/// The items that a killed import was about to place in several steps, as far as the journal's
/// survey keeps them.
struct EarlierPlacing: Sendable {
  /// Whether the journal has any.
  private(set) var isAny = false
  /// The positions in the journal where the earlier records of a path were withdrawn.
  private var withdrawn: [ArchivePath: UInt64] = [:]

  mutating func note(_ path: ArchivePath, _ target: ArchivePath?, at position: UInt64) {
    isAny = true
    if target == nil { withdrawn[path] = position }
  }

  /// Whether a record of a path at a position in the journal is still valid.
  func counts(_ path: ArchivePath, at position: UInt64) -> Bool { withdrawn[path].map { position > $0 } ?? true }
}

/// Finishes the placings that a killed import had begun.
extension FolderImport {
  /// Removes empty claims, and removes the staged name of items that have both names.
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
      // An item that is no longer staged has been imported.
      guard let item = try destination.occupant(ofStaged: path), let there = try destination.occupant(at: target)
      else { return }
      switch item.kind {
      case .directory:
        // A directory that is not empty is not removed.
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

  /// Whether a file or link that is still staged already has its name at the destination. On some
  /// file systems each name has an inode number of its own.
  private func hasBothNames(
    _ path: ArchivePath, _ item: Occupant, _ target: ArchivePath, _ there: Occupant
  ) throws(SystemError) -> Bool {
    if there.isSame(as: item) { return true }
    // An empty file may be a claim, and can be removed without loss.
    guard there.kind == .symbolicLink || there.size > 0 else { return false }
    return try destination.isCopy(of: path, at: target)
  }
}
