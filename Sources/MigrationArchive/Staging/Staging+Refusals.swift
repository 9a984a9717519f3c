import MigrationSystem
package import MigrationWire

/// Items that the destination cannot hold: each is refused, journaled and named, and everything else goes on (Protocol §9.8).
extension Staging {
  /// The refusals that are named, in the order in which they came; the rest is counted.
  struct Refusals: Sendable {
    private(set) var named: [Refusal] = []
    private var budget = NamingBudget()
    /// Files whose records have not come.
    var awaited: [ArchivePath: RefusalReason] = [:]
    /// Makes names for trials.
    var trials: UInt64 = 0

    /// Keeps as many as one session may name.
    mutating func name(_ refusal: Refusal) {
      if budget.take(refusal.size) { named.append(refusal) }
    }
  }

  /// The refusals that are named, from a place in their order on.
  package func refusals(from start: Int) -> ArraySlice<Refusal> {
    shared.withLock { $0.refusals.named.dropFirst(start) }
  }

  /// The refusals that are named, without those of what the source no longer has, which go when everything has arrived.
  package var lastingRefusals: [Refusal] {
    shared.withLock { shared in
      shared.refusals.named.filter {
        !shared.dropped.contains(keys.mark(path: $0.path, generation: $0.generation))
      }
    }
  }

  /// Refuses an item; the staged parts of a file go.
  ///
  /// The journal is told first, under the lock: what another stream brings of the item is acknowledged from then on, and not
  /// kept.
  func refuse(
    _ record: ItemRecord, _ reason: RefusalReason, _ message: String?, in places: any StagingPlaces
  ) throws(ArchiveError) {
    let isStaged = try shared.withLock { (shared) throws(ArchiveError) -> Bool in
      let isStaged = shared.ledger.refusable(record.path, record.generation) != nil
      try tell(record.path, record.generation, size: record.size, reason, isDurable: isStaged)
      // Its chunks may have told already.
      if shared.refusals.awaited.removeValue(forKey: record.path) == nil {
        shared.refusals.name(
          Refusal(path: record.path, generation: record.generation, reason: reason, message: message))
      }
      if let number = shared.ledger.refuse(record) { shared.open[number] = nil }
      return isStaged
    }
    if isStaged { try remove(record.path, in: places) }
  }

  /// Refuses a file of which a chunk came; its record may have come too. The journal is told first here as well.
  func refuse(
    _ place: ChunkPlace, _ reason: RefusalReason, _ message: String?, in places: any StagingPlaces, isStaged: Bool
  ) throws(ArchiveError) {
    let isRefused = try shared.withLock { (shared) throws(ArchiveError) -> Bool in
      // Another stream was faster.
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

  /// Tells the journal of a refusal; for good, where something on the disk goes.
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

  /// Why something is refused.
  struct WhyRefused: Equatable, Sendable {
    let reason: RefusalReason
    let message: String?
  }

  /// Refuses the staged items at some paths and everything beneath them, which cannot be put in their places. They stay in
  /// staging, and go with that.
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

  /// Takes a refusal back that the journal tells of.
  func restore(_ path: ArchivePath, _ generation: Generation, size: UInt64?, _ reason: RefusalReason) {
    shared.withLock { shared in
      let isNamed = shared.ledger.isRefused(path, generation)
      shared.ledger.restore(refused: path, generation, size: size)
      shared.refusals.awaited[path] = size == nil ? reason : nil
      if !isNamed { shared.refusals.name(Refusal(path: path, generation: generation, reason: reason)) }
    }
  }
}
