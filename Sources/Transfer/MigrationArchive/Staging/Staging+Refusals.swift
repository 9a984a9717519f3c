import MigrationSystem
package import MigrationWire

/// Items that the destination cannot hold: each is refused, journaled and reported, and the
/// transfer continues with the other items (Protocol §9.8).
extension Staging {
  /// The refusals that are reported by name, in the order in which they occurred; the rest are
  /// counted.
  struct Refusals: Sendable {
    private(set) var named: [NotStored] = []
    private var budget = NamingBudget()
    /// Files whose records have not arrived.
    var awaited: [ArchivePath: NotStored.Reason] = [:]
    /// A counter for the names of trial items.
    var trials: UInt64 = 0

    /// Keeps as many refusals as one session may report by name.
    mutating func name(_ refusal: NotStored) {
      if budget.take(refusal.size) { named.append(refusal) }
    }

    /// Forgets the refusals of which `isGone` is true.
    mutating func remove(where isGone: (NotStored) -> Bool) {
      let kept = named.filter { !isGone($0) }
      (named, budget) = ([], NamingBudget())
      for refusal in kept { name(refusal) }
    }
  }

  /// The refusals that are reported by name, from an index on.
  package func refusals(from start: Int) -> ArraySlice<NotStored> {
    shared.withLock { $0.refusals.named.dropFirst(start) }
  }

  /// The refusals that are reported by name, except those of items that no longer exist in the
  /// source, which are dropped when everything has arrived.
  package var lastingRefusals: [NotStored] {
    shared.withLock { shared in
      shared.refusals.named.filter {
        $0.mark(keys).map { !shared.dropped.contains($0) } ?? true
      }
    }
  }

  /// Refuses an item; the staged parts of a file are removed.
  ///
  /// The refusal is journaled first, under the lock: data that another stream brings for the item
  /// is acknowledged from then on, and not kept.
  func refuse(
    _ record: ItemRecord, _ reason: NotStored.Reason, _ error: UInt16?, in places: any StagingTree
  ) throws(Failure) {
    let isStaged = try shared.withLock { (shared) throws(Failure) -> Bool in
      let isStaged = shared.ledger.refusable(record.path, record.generation) != nil
      try tell(record.path, record.generation, size: record.size, reason, isDurable: isStaged)
      // A chunk may have caused the refusal already.
      if shared.refusals.awaited.removeValue(forKey: record.path) == nil {
        shared.refusals.name(
          NotStored(path: record.path, generation: record.generation, reason, error: error))
      }
      if let number = shared.ledger.refuse(record) { shared.open[number] = nil }
      return isStaged
    }
    if isStaged { try remove(record.path, in: places) }
  }

  /// Refuses a file of which a chunk came; its record may have come too. Here, too, the refusal is
  /// journaled first.
  func refuse(
    _ place: FilePiece, _ reason: NotStored.Reason, _ error: UInt16?, in places: any StagingTree, isStaged: Bool
  ) throws(Failure) {
    let isRefused = try shared.withLock { (shared) throws(Failure) -> Bool in
      // Another stream refused it first.
      guard let file = shared.ledger.refusable(place.path, place.generation) else { return false }
      try tell(place.path, place.generation, size: file.record?.size, reason, isDurable: isStaged)
      shared.ledger.refuse(place.path, place.generation)
      shared.refusals.name(
        NotStored(path: place.path, generation: place.generation, reason, error: error))
      if file.record == nil { shared.refusals.awaited[place.path] = reason }
      shared.open[file.number] = nil
      return true
    }
    if isRefused && isStaged { try remove(place.path, in: places) }
  }

  /// Journals a refusal; durably, if an item on the disk is removed.
  private func tell(
    _ path: ArchivePath, _ generation: Generation, size: UInt64?, _ reason: NotStored.Reason, isDurable: Bool
  ) throws(Failure) {
    let claim = JournalRecord.refused(path: path, generation: generation, size: size, reason)
    do {
      if isDurable { try journal.appendDurably([claim]) } else { try journal.append([claim]) }
    } catch {
      throw Failure(.storage, "the journal cannot be written", cause: error)
    }
  }

  /// Refuses the staged items at some paths, and their contents, because they cannot be moved to
  /// the destination. They stay in the staging directory and are removed with it.
  func refuseStaged(_ paths: [ArchivePath: (reason: NotStored.Reason, error: UInt16?)]) throws(Failure) {
    guard !paths.isEmpty else { return }
    let places = disk.places()
    do {
      try journal.forEach(upTo: journal.position) { _, claim in
        guard let record = claim.completedItem, shared.withLock({ $0.ledger.holds(record) }),
          let place = record.path.lineage.first(where: { paths[$0] != nil }), let why = paths[place]
        else { return }
        let isItself = record.path == place
        try refuse(
          record, isItself ? why.reason : .directoryNotStored, isItself ? why.error : nil, in: places)
      }
      try journal.file.synchronize()
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(.storage, "the journal cannot be written", cause: error as? SystemError)
    }
  }

  /// Restores a refusal that is in the journal.
  func restore(_ path: ArchivePath, _ generation: Generation, size: UInt64?, _ reason: NotStored.Reason) {
    shared.withLock { shared in
      let isNamed = shared.ledger.isRefused(path, generation)
      shared.ledger.restore(refused: path, generation, size: size)
      shared.refusals.awaited[path] = size == nil ? reason : nil
      if !isNamed { shared.refusals.name(NotStored(path: path, generation: generation, reason)) }
    }
  }
}

/// Handles items that the destination cannot hold.
extension StagingWriter {
  /// Refuses an item if the error was caused by the item; throws any other error.
  func refuse(_ record: ItemRecord, after error: Failure) throws {
    let (reason, number) = try reason(for: record.path, record.body, error)
    try refuse(record, reason, number)
  }

  func refuse(_ record: ItemRecord, _ reason: NotStored.Reason, _ error: UInt16?) throws {
    try staging.refuse(record, reason, error, in: places)
    refused()
  }

  /// Refuses a file if the error of a chunk was caused by the file; throws any other error.
  func refuse(_ place: FilePiece, after error: Failure, isStaged: Bool) throws {
    let (reason, number) = try reason(for: place.path, .file(size: place.range.upperBound), error)
    try staging.refuse(place, reason, number, in: places, isStaged: isStaged)
    refused()
  }

  private func reason(
    for path: ArchivePath, _ body: ItemRecord.Body, _ error: Failure
  ) throws -> (NotStored.Reason, UInt16?) {
    guard staging.shared.withLock({ $0.mayRefuse }) else { throw error }
    if let refusal = error.refusal { return (refusal, nil) }
    do {
      if let known = try Staging.Storability(staging: staging, places: places).reason(for: path, body, error) {
        return known
      }
    } catch {
      // If a trial on the disk fails as well, the first error is reported.
    }
    throw error
  }
}
