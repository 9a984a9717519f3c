import MigrationSystem
package import MigrationWire

extension Staging {
  /// Compares the received data with the sender's totals, and creates and sets the rest: hard
  /// links, directories' permissions and times. The roots' own permissions are set when the roots
  /// are moved.
  ///
  /// Throws a `Violation` if the archive is not the sender's archive. If it is larger than the user
  /// accepts, nothing is changed.
  package func complete(_ finish: Finish, progress: (ImportProgress) -> Void) throws {
    try shared.withLock { $0.most }?.check(total: finish.total.bytes)
    let places = disk.places()
    try removeIncomplete(in: places)
    try removeDropped(in: places)
    let (difference, links, directories) = shared.withLock { shared in
      (
        shared.ledger.difference(from: finish), shared.ledger.linkPositions, shared.ledger.directoryPositions
      )
    }
    if let difference { throw Violation(.conflict, "the received archive", difference) }
    let total = UInt64(links.count + directories.count)
    var done: UInt64 = 0
    for position in links {
      let link = try record(at: position)
      do {
        try make(link, in: places)
      } catch let error as ArchiveError {
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
    try synchronize()
    do {
      try journal.appendDurably([.concluded(finish.total)])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
    shared.withLock { $0.stage = .concluded(finish.total) }
    progress(ImportProgress(phase: .makingDurable, done: 1, total: 1))
  }

  /// The record of a directory, if the archive has one.
  func directoryRecord(_ path: ArchivePath) throws(ArchiveError) -> ItemRecord? {
    guard let position = shared.withLock({ $0.ledger.position(ofDirectory: path) }) else { return nil }
    return try record(at: position)
  }

  /// A record that is applied at the end, read from the journal: all of them may not fit into
  /// memory.
  func record(at position: UInt64?) throws(ArchiveError) -> ItemRecord {
    do {
      if let position, let record = try journal.record(at: position)?.completedItem { return record }
    } catch {
      throw ArchiveError(.storage, "the journal cannot be read", cause: error)
    }
    throw ArchiveError(.storage, "the journal no longer has a record that it had before")
  }

  private func removeIncomplete(in places: any StagingPlaces) throws(ArchiveError) {
    let (partials, refused) = shared.withLock { shared in
      shared.open = [:]
      let refused = shared.ledger.refusedWithoutRecord
      return (shared.ledger.dropIncomplete(), refused)
    }
    for path in partials { try remove(path, in: places) }
    // A refused item has left nothing except possibly a directory that was created for it.
    try removeEmptied(partials + refused, in: places)
  }

  private func make(_ link: ItemRecord, in places: any StagingPlaces) throws {
    guard case .hardLink(let target) = link.body else { return }
    guard roots?.contains(Array(target.root)) ?? true else { throw Violation(.announcement, "a hard link's target") }
    if shared.withLock({ $0.ledger.hasHardLink(target) }) {
      throw Violation(.conflict, "a hard link's target", "\(VisibleText.quoted(target)) is a hard link itself")
    }
    if shared.withLock({ $0.ledger.refuses(path: target) }) {
      throw ArchiveError(refusing: link.path, .targetNotStored)
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
      throw ArchiveError(placing: link.path, "linking", error)
    }
  }

  private func refuse(_ link: ItemRecord, after error: ArchiveError, in places: any StagingPlaces) throws {
    let storability = Storability(staging: self, places: places)
    var known = error.refusal.map { (reason: $0, message: String?.none) }
    if known == nil { known = try? storability.reason(for: link.path, link.body, error) }
    guard let known, shared.withLock({ $0.mayRefuse }) else { throw error }
    try refuse(link, known.reason, known.message, in: places)
  }

  private func kind(of path: ArchivePath, in places: any StagingPlaces) throws(ArchiveError) -> FileKind? {
    do {
      return try places.kind(of: path)
    } catch {
      throw ArchiveError("examining", path, error)
    }
  }

  private func setMetadata(of record: ItemRecord, in places: any StagingPlaces) throws(ArchiveError) {
    let isRoot = record.path.parent == nil && roots != nil
    let kept = setExtended(in: places, record, isRoot: isRoot)
    setTime(in: places, record)
    guard !isRoot else { return }
    do throws(SystemError) {
      // If a directory was replaced by another type, its file system is not the cause.
      guard try places.kind(of: record.path) == .directory else { throw SystemError(notADirectory: "chmod") }
      try keepMode { () throws(SystemError) in try places.setMode(record.path, mode(of: record, kept)) }
    } catch {
      throw ArchiveError("setting the rights of", record.path, error)
    }
  }

  /// An order in which the contents of a directory come before the directory.
  static func deeperFirst(_ left: ArchivePath, _ right: ArchivePath) -> Bool {
    let (one, other) = (left.depth, right.depth)
    return one == other ? left < right : one > other
  }
}
