import MigrationSystem
package import MigrationWire

/// Items that the destination cannot hold: each is refused, journaled and reported, and the
/// transfer continues with the other items (Protocol §9.8).
extension Staging {
  /// The refusals that are reported by name, in the order in which they occurred; the rest are
  /// counted.
  struct Refusals: Sendable {
    private(set) var named: [Refusal] = []
    private var budget = NamingBudget()
    /// Files whose records have not arrived.
    var awaited: [ArchivePath: RefusalReason] = [:]
    /// A counter for the names of trial items.
    var trials: UInt64 = 0

    /// Keeps as many refusals as one session may report by name.
    mutating func name(_ refusal: Refusal) {
      if budget.take(refusal.size) { named.append(refusal) }
    }
  }

  /// The refusals that are reported by name, from an index on.
  package func refusals(from start: Int) -> ArraySlice<Refusal> {
    shared.withLock { $0.refusals.named.dropFirst(start) }
  }

  /// The refusals that are reported by name, except those of items that no longer exist in the
  /// source, which are dropped when everything has arrived.
  package var lastingRefusals: [Refusal] {
    shared.withLock { shared in
      shared.refusals.named.filter {
        !shared.dropped.contains(keys.mark(path: $0.path, generation: $0.generation))
      }
    }
  }

  /// Refuses an item; the staged parts of a file are removed.
  ///
  /// The refusal is journaled first, under the lock: data that another stream brings for the item
  /// is acknowledged from then on, and not kept.
  func refuse(
    _ record: ItemRecord, _ reason: RefusalReason, _ message: String?, in places: any StagingPlaces
  ) throws(ArchiveError) {
    let isStaged = try shared.withLock { (shared) throws(ArchiveError) -> Bool in
      let isStaged = shared.ledger.refusable(record.path, record.generation) != nil
      try tell(record.path, record.generation, size: record.size, reason, isDurable: isStaged)
      // A chunk may have caused the refusal already.
      if shared.refusals.awaited.removeValue(forKey: record.path) == nil {
        shared.refusals.name(
          Refusal(path: record.path, generation: record.generation, reason: reason, message: message))
      }
      if let number = shared.ledger.refuse(record) { shared.open[number] = nil }
      return isStaged
    }
    if isStaged { try remove(record.path, in: places) }
  }

  /// Refuses a file of which a chunk came; its record may have come too. Here, too, the refusal is
  /// journaled first.
  func refuse(
    _ place: ChunkPlace, _ reason: RefusalReason, _ message: String?, in places: any StagingPlaces, isStaged: Bool
  ) throws(ArchiveError) {
    let isRefused = try shared.withLock { (shared) throws(ArchiveError) -> Bool in
      // Another stream refused it first.
      guard let file = shared.ledger.refusable(place.path, place.generation) else { return false }
      try tell(place.path, place.generation, size: file.record?.size, reason, isDurable: isStaged)
      shared.ledger.refuse(place.path, place.generation)
      shared.refusals.name(
        Refusal(path: place.path, generation: place.generation, reason: reason, message: message))
      if file.record == nil { shared.refusals.awaited[place.path] = reason }
      shared.open[file.number] = nil
      return true
    }
    if isRefused && isStaged { try remove(place.path, in: places) }
  }

  /// Journals a refusal; durably, if an item on the disk is removed.
  private func tell(
    _ path: ArchivePath, _ generation: Generation, size: UInt64?, _ reason: RefusalReason, isDurable: Bool
  ) throws(ArchiveError) {
    let claim = JournalRecord.refused(path: path, generation: generation, size: size, reason)
    do {
      if isDurable { try journal.appendDurably([claim]) } else { try journal.append([claim]) }
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
  }

  /// The reason for a refusal.
  struct WhyRefused: Equatable, Sendable {
    let reason: RefusalReason
    let message: String?
  }

  /// Refuses the staged items at some paths, and their contents, because they cannot be moved to
  /// the destination. They stay in the staging directory and are removed with it.
  func refuseStaged(_ paths: [ArchivePath: WhyRefused]) throws(ArchiveError) {
    guard !paths.isEmpty else { return }
    let places = disk.places()
    do {
      try journal.forEach(upTo: journal.position) { _, claim in
        guard let record = claim.completedItem, shared.withLock({ $0.ledger.holds(record) }),
          let place = record.path.lineage.first(where: { paths[$0] != nil }), let why = paths[place]
        else { return }
        let isItself = record.path == place
        try refuse(
          record, isItself ? why.reason : .directoryNotStored, isItself ? why.message : nil, in: places)
      }
      try journal.file.synchronize()
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error as? SystemError)
    }
  }

  /// Restores a refusal that is in the journal.
  func restore(_ path: ArchivePath, _ generation: Generation, size: UInt64?, _ reason: RefusalReason) {
    shared.withLock { shared in
      let isNamed = shared.ledger.isRefused(path, generation)
      shared.ledger.restore(refused: path, generation, size: size)
      shared.refusals.awaited[path] = size == nil ? reason : nil
      if !isNamed { shared.refusals.name(Refusal(path: path, generation: generation, reason: reason)) }
    }
  }
}
