import MigrationSystem
import MigrationWire

/// Compares the tree with the claims, by names and lengths: unclaimed items are removed, and missing
/// items are no longer held. It opens no file.
///
/// A file system may have said that a file is durable, and have lost it: a file of another length than
/// claimed counts as missing, also where a mark vouches for it.
struct StagingSweep {
  private let staging: Staging
  private let places: any StagingTree
  private var missing: [UInt64: StagingReplay.Claim]

  init(_ staging: Staging, claimed: [UInt64: StagingReplay.Claim]) {
    self.staging = staging
    places = staging.disk.places()
    missing = claimed
  }

  mutating func run() throws {
    try sweep()
    try forgetMissing()
  }

  /// Processes the tree, the contents of each directory before the directory.
  private mutating func sweep() throws {
    var pending: [(path: ArchivePath?, isListed: Bool)] = [(nil, false)]
    while let (path, isListed) = pending.popLast() {
      if isListed {
        guard let path else { continue }
        // An unclaimed directory stays as long as it contains a claimed item.
        if try !take(path, isDirectory: true) { _ = try places.removeIfEmpty(path) }
        continue
      }
      pending.append((path, true))
      for entry in try places.entries(of: path) {
        let child = try path?.appending(entry.name.span) ?? ArchivePath(entry.name)
        if entry.kind == .directory {
          pending.append((child, false))
        } else if try !take(child, isDirectory: false) {
          try places.remove(child)
        }
      }
    }
  }

  private mutating func take(_ path: ArchivePath, isDirectory: Bool) throws(SystemError) -> Bool {
    let hash = EarlierItems.hash(path, staging.journal.key)
    guard let claim = missing[hash], claim.isDirectory == isDirectory else { return false }
    if claim.size != nil { guard try claim.allows(places.size(of: path)) else { return false } }
    missing[hash] = nil
    return true
  }

  /// Fails if a file that an import has not moved yet has another length than claimed.
  func checkSizes() throws {
    var pending: [ArchivePath?] = [nil]
    while let directory = pending.popLast() {
      for entry in try places.entries(of: directory) {
        let path = try directory?.appending(entry.name.span) ?? ArchivePath(entry.name)
        if entry.kind == .directory { pending.append(path) }
        guard entry.kind == .regular, let claim = missing[EarlierItems.hash(path, staging.journal.key)],
          try !claim.allows(places.size(of: path)), try !isDisplaced(path)
        else { continue }
        throw Failure(
          .journal, "the file system has lost data that it had made durable: \(VisibleText.quoted(path))",
          name: path.bytes)
      }
    }
  }

  /// Whether an earlier import died between an exchange and its check of the displaced file: then
  /// the earlier version lies in staging.
  private func isDisplaced(_ path: ArchivePath) throws(SystemError) -> Bool {
    guard let move = staging.shared.withLock({ $0.moving[path] }) else { return false }
    return try staging.disk.destination?.occupant(ofStaged: path)?.inode != move.inode
  }

  /// Forgets the claimed items that are missing, as if they had never arrived.
  private func forgetMissing() throws {
    guard !missing.isEmpty else { return }
    var gone: [JournalRecord] = []
    for position in missing.values.map(\.position).sorted() {
      let path: ArchivePath
      switch try staging.journal.record(at: position) {
      case .item(let record, _)?, .sealed(let record)?:
        path = record.path
        staging.shared.withLock { $0.ledger.forget(path, complete: record) }
      case .range(let place, _)?:
        path = place.path
        try forgetFile(of: place)
      case .opened?, .discarded?, .discardedTree?, .void?, .synced?, .concluded?, .moving?, .exposed?, .imported?,
        .existing?, .refused?, .placing?, .aside?, .arrived?, .rewritten?, .following?, .importing?, .placed?, .kept?,
        nil:
        continue
      }
      gone.append(.discarded(path))
    }
    try staging.journal.append(gone)
  }

  /// Forgets a file whose last claim is a range; its record, if there was one, came before.
  private func forgetFile(of place: FilePiece) throws {
    var sealed: ItemRecord?
    try staging.journal.forEach(upTo: staging.journal.position) { _, record in
      if case .sealed(let item) = record, item.path == place.path { sealed = item }
    }
    staging.shared.withLock { $0.ledger.forget(place.path, complete: sealed) }
  }
}
