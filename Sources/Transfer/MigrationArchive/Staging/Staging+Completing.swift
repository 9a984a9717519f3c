import MigrationSystem
package import MigrationWire

// FolderImport+Metadata has the other half: roots when they are moved, directories that existed already.
extension Staging {
  /// Compares the received data with the sender's totals, and creates and sets the rest: hard
  /// links, directories' permissions and times. The roots' own permissions are set when the roots
  /// are moved.
  ///
  /// Throws a `Violation` if the archive is not the sender's archive. If it is larger than the user
  /// accepts, nothing is changed. Items that the source can no longer read are kept as they came.
  /// With `verifying`, every file is read again first.
  package func complete(
    _ finish: Finish, keeping kept: UnreadableSource = UnreadableSource(), verifying isVerified: Bool = false,
    progress: (ImportProgress) -> Void
  ) throws {
    try shared.withLock { $0.most }?.check(total: finish.total.bytes)
    let places = disk.places()
    arrivals?.noteUnread(kept)
    try removeIncomplete(in: places)
    var besides = try removeDropped(in: places, keeping: kept)
    besides.add(try restoreReplaced(in: places, keeping: kept))
    let (difference, links, directories) = shared.withLock { shared in
      (
        shared.ledger.difference(from: finish, besides: (besides.total, besides.digest)), shared.ledger.linkPositions,
        shared.ledger.directoryPositions
      )
    }
    if let difference { throw Violation(.conflict, "the received archive", difference) }
    if isVerified { try verify(in: places, progress) }
    let total = UInt64(links.count + directories.count)
    var done: UInt64 = 0
    for position in links {
      let link = try record(at: position)
      do {
        try make(link, in: places)
      } catch let error as Failure {
        try refuse(link, after: error, in: places)
      }
      done += 1
    }
    // From the leaves up: a directory may lose the permissions that are needed to reach its
    // contents.
    for position in directories {
      try setMetadata(of: try record(at: position), in: places)
      done += 1
      if done % 256 == 0 { progress(ImportProgress(phase: .verifying, done: done, total: total)) }
    }
    progress(ImportProgress(phase: .makingDurable, done: 0, total: 1))
    try synchronize(before: [.concluded(finish.total)])
    shared.withLock { $0.stage = .concluded(finish.total) }
    progress(ImportProgress(phase: .makingDurable, done: 1, total: 1))
  }

  /// The record of a directory, if the archive has one.
  func directoryRecord(_ path: ArchivePath) throws(Failure) -> ItemRecord? {
    guard let position = shared.withLock({ $0.ledger.position(ofDirectory: path) }) else { return nil }
    return try record(at: position)
  }

  /// A record that is applied at the end, read from the journal: all of them may not fit into
  /// memory.
  func record(at position: UInt64?) throws(Failure) -> ItemRecord {
    do {
      if let position, let record = try journal.record(at: position)?.completedItem { return record }
    } catch {
      throw Failure(.storage, "the journal cannot be read", cause: error)
    }
    throw Failure(.storage, "the journal no longer has a record that it had before")
  }

  private func removeIncomplete(in places: any StagingTree) throws(Failure) {
    let (partials, refused) = shared.withLock { shared in
      shared.open = [:]
      let refused = shared.ledger.refusedWithoutRecord
      return (shared.ledger.dropIncomplete(), refused)
    }
    for path in partials { try remove(path, in: places) }
    // A refused item has left nothing except possibly a directory that was created for it.
    try removeEmptied(partials + refused, in: places)
  }

  private func make(_ link: ItemRecord, in places: any StagingTree) throws {
    guard case .hardLink(let target) = link.body else { return }
    guard roots?.contains(Array(target.root)) ?? true else { throw Violation(.announcement, "a hard link's target") }
    if shared.withLock({ $0.ledger.hasHardLink(target) }) {
      throw Violation(.conflict, "a hard link's target", "\(VisibleText.quoted(target)) is a hard link itself")
    }
    if shared.withLock({ $0.ledger.refuses(path: target) }) {
      throw Failure(refusing: link.path, .targetNotStored)
    }
    guard try kind(of: target, in: places) == .regular else { throw Violation(.conflict, "a hard link's target") }
    do {
      do {
        try places.makeHardLink(link.path, to: target)
      } catch  where error.isLinkRefused {
        try places.makeCopy(link.path, of: target)
        lost(.hardLink)
      }
    } catch {
      try shared.withLock { try checkContradiction(of: link.path, error, in: places, $0) }
      throw Failure(placing: link.path, "linking", error)
    }
  }

  private func refuse(_ link: ItemRecord, after error: Failure, in places: any StagingTree) throws {
    let storability = Storability(staging: self, places: places)
    var known = error.refusal.map { (reason: $0, error: UInt16?.none) }
    if known == nil { known = try? storability.reason(for: link.path, link.body, error) }
    guard let known, shared.withLock({ $0.mayRefuse }) else { throw error }
    try refuse(link, known.reason, known.error, in: places)
  }

  private func kind(of path: ArchivePath, in places: any StagingTree) throws(Failure) -> FileKind? {
    try SystemError.mapped(places.kind(of: path)) { Failure("examining", path, $0) }
  }

  /// An order in which the contents of a directory come before the directory.
  static func deeperFirst(_ left: ArchivePath, _ right: ArchivePath) -> Bool {
    let (one, other) = (left.depth, right.depth)
    return one == other ? left < right : one > other
  }

  /// Counts an item that has been created, and the metadata of its record that is never kept.
  func finish(_ record: ItemRecord, _ names: LedgerNames? = nil) throws(Violation) {
    try shared.withLock { (shared) throws(Violation) in try shared.ledger.finish(record, names) }
    countLosses(of: record)
  }

  /// Stores the journal positions of items that are created at the end.
  func place(_ items: [(record: ItemRecord, position: UInt64)]) {
    guard !items.isEmpty else { return }
    shared.withLock { shared in
      for (record, position) in items { shared.ledger.place(record, at: position) }
    }
  }
}
