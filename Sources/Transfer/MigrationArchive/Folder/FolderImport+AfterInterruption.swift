import MigrationSystem
import MigrationWire

/// What an import does first if a run before it was killed: it tells the items that the run had moved from
/// the entries of others, and ends what the run had begun.
extension FolderImport {
  /// Sets the remaining permissions and times of the items that a killed import had moved, and
  /// reports their names to the user.
  mutating func finishEarlierMoves() throws(Failure) {
    let moves = staging.shared.withLock { $0.moving }
    for (path, move) in moves.sorted(by: { $0.key < $1.key }) {
      let there = try importing(path) { () throws(SystemError) in
        try staged.kind(of: path) == nil ? destination.occupant(at: move.target) : nil
      }
      guard let there, try hasMoved(path, move, there) else {
        let isGone = try importing(path) { () throws(SystemError) in try staged.kind(of: path) == nil }
        if isGone, path.parent == nil, there == nil || tellsEntriesApart { throw displaced(move.target) }
        continue
      }
      noteArrival(at: move.target, of: path)
      if move.target != home(of: path) { staging.noteRenamed(path, move.target) }
      if path.parent == nil { placedRoots.append((move.target, there)) }
      guard there.kind == .directory else { continue }
      let folder: any StagedFile
      do {
        folder = try destination.open(move.target, seen: there)
      } catch {
        // The mode comes last: a directory that this process may not open has all of it.
        if error.isPermissionDenied { continue }
        throw failed(path, error)
      }
      try finish(path, folder, there.owner)
    }
  }

  /// Whether the existing entry is the moved item: it has the item's inode, or, because the file
  /// system may have changed that, it is a directory with the item's time.
  func hasMoved(_ path: ArchivePath, _ move: Staging.Move, _ there: ExistingEntry) throws(Failure) -> Bool {
    if there.inode == move.inode { return true }
    guard !tellsEntriesApart, there.kind == .directory, let modified = there.modified,
      let sent = try staging.directoryRecord(path)?.modified
    else { return false }
    return abs(modified.seconds - sent.seconds) <= Self.coarsestTime
  }

  /// The coarsest file systems round times to this many seconds.
  private static let coarsestTime: Int64 = 2

  // MARK: Half-made names

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

  /// Removes empty placeholders, and removes the staged name of items that have both names.
  func settleEarlierPlacing() throws(Failure) {
    let earlier = staging.shared.withLock { $0.earlierPlacing }
    guard earlier.isAny else { return }
    do {
      try staging.journal.forEach(upTo: staging.journal.position) { position, record in
        guard case .placing(let path, let target?) = record, earlier.counts(path, at: position) else { return }
        try settle(path, at: target)
      }
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(.importFailed, "the journal cannot be read", cause: error as? SystemError)
    }
  }

  private func settle(_ path: ArchivePath, at target: ArchivePath) throws(Failure) {
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
    _ path: ArchivePath, _ item: ExistingEntry, _ target: ArchivePath, _ there: ExistingEntry
  ) throws(SystemError) -> Bool {
    if there.isSame(as: item) { return true }
    // An empty file may be a placeholder, and can be removed without loss.
    guard there.kind == .symbolicLink || there.size > 0 else { return false }
    return try destination.isCopy(of: path, at: target)
  }

  // MARK: Exchanges, old entries and metadata

  /// Ends exchanges that a run before did not live to look at.
  func settleEarlierExchanges() throws(Failure) {
    guard existing == .merge, tellsEntriesApart else { return }
    for (path, move) in staging.shared.withLock({ $0.moving }) {
      try importing(path) { () throws(SystemError) in
        guard let displaced = try destination.occupant(ofStaged: path), displaced.inode != move.inode,
          displaced.kind != .directory, try destination.occupant(at: move.target)?.inode == move.inode
        else { return }
        if arrived?.item(at: path)?.isContent(of: displaced) == true {
          try staged.remove(path)
        } else {
          try destination.exchange(move.target, with: path)
        }
      }
    }
  }

  /// Notes what an import before this one has moved, and set aside, and not brought back.
  mutating func noteEarlierChanges() throws(Failure) {
    let (moves, asides) = staging.shared.withLock { ($0.moving, $0.asides) }
    for (path, move) in moves.sorted(by: { $0.key < $1.key }) {
      var old: ArchivePath?
      if let aside = asides[path], let there = try occupant(at: aside.target, for: path),
        there.inode == aside.inode || !tellsEntriesApart
      {
        old = aside.target
      }
      guard old != nil || existing == .setAside && path.parent == nil else { continue }
      let there = try occupant(at: move.target, for: path)
      let isOurs = if let there { try hasMoved(path, move, there) } else { false }
      changed.append(
        Changed(
          item: Item(path: path, target: move.target, kind: .directory), aside: old, isOurs: isOurs,
          lacksOld: asides[path] != nil && old == nil))
    }
  }

  private func occupant(at target: ArchivePath, for path: ArchivePath) throws(Failure) -> ExistingEntry? {
    try importing(path) { () throws(SystemError) in
      do throws(SystemError) {
        return try destination.occupant(at: target)
      } catch  where error.isNotFound || error.isNotDirectory {
        return nil
      }
    }
  }

  /// Notes the files whose metadata a run before this one has begun to set: they follow, unless others have
  /// changed them since. Of one that the run did not come to the end of, nothing tells that: it follows, and
  /// counts as touched from then on.
  mutating func noteEarlierFollowing() throws(Failure) {
    guard let arrived, !arrived.isEmpty else { return }
    var begun: [ArchivePath] = []
    var placed: [UInt64: ItemTime] = [:]
    try reading {
      try staging.journal.forEach(upTo: staging.journal.position) { _, claim in
        switch claim {
        case .following(let path): begun.append(path)
        case .placed(let inode, let changed) where !begun.isEmpty: placed[inode] = changed
        default: break
        }
      }
    }
    for path in begun {
      guard let earlier = arrived.item(at: path), since(earlier) == .touched,
        let there = (try? destination.occupant(at: earlier.target)) ?? nil
      else { continue }
      if let changed = placed[there.inode] {
        if there.changed.map({ ItemTime($0) }) == changed { replaced.insert(there.inode) }
      } else {
        replaced.insert(there.inode)
        doubtful.insert(path)
      }
    }
  }
}

extension ArrivedItem {
  /// Whether an entry has the content that arrived, apart from its name.
  fileprivate func isContent(of there: ExistingEntry) -> Bool {
    entry?.inode == there.inode && kind.fileKind == there.kind && kind != .directory
      && (kind != .file || size == there.size && there.modified.map { ItemTime($0) } == modified)
  }
}
