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

  /// Refuses an item and journals it; the staged parts of a file go. `claims` takes the record that the journal is told later,
  /// where nothing on the disk depends on it.
  func refuse(
    _ record: ItemRecord, _ reason: RefusalReason, _ message: String?, in places: any StagingPlaces,
    claims: (JournalRecord) -> Void
  ) throws(ArchiveError) {
    let number = shared.withLock { shared in
      // Its chunks may have told already.
      if shared.refusals.awaited.removeValue(forKey: record.path) == nil {
        shared.refusals.name(
          Refusal(path: record.path, generation: record.generation, reason: reason, message: message))
      }
      let number = shared.ledger.refuse(record)
      if let number { shared.open[number] = nil }
      return number
    }
    let claim = JournalRecord.refused(
      path: record.path, generation: record.generation, size: record.size, reason)
    guard number != nil else { return claims(claim) }
    try discard(record.path, claim, in: places)
  }

  /// Refuses a file of which a chunk came; its record may have come too.
  func refuse(
    _ place: ChunkPlace, _ reason: RefusalReason, _ message: String?, in places: any StagingPlaces, isStaged: Bool
  ) throws(ArchiveError) {
    let known = shared.withLock { shared -> (record: ItemRecord?, number: Ledger.FileNumber)? in
      guard let file = shared.ledger.refuse(place.path, place.generation) else { return nil }
      shared.refusals.name(
        Refusal(path: place.path, generation: place.generation, reason: reason, message: message))
      if file.record == nil { shared.refusals.awaited[place.path] = reason }
      shared.open[file.number] = nil
      return file
    }
    // Another stream was faster.
    guard let known else { return }
    let claim = JournalRecord.refused(
      path: place.path, generation: place.generation, size: known.record?.size, reason)
    if isStaged { return try discard(place.path, claim, in: places) }
    do {
      try journal.append([claim])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
  }

  /// The journal knows before the disk does, and for good.
  private func discard(
    _ path: ArchivePath, _ claim: JournalRecord, in places: any StagingPlaces
  ) throws(ArchiveError) {
    do {
      try journal.appendDurably([claim])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
    try remove(path, in: places)
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
    var claims: [JournalRecord] = []
    do {
      try journal.forEach(upTo: journal.position) { _, claim in
        guard let record = claim.completedItem, shared.withLock({ $0.ledger.holds(record) }),
          let place = record.path.lineage.first(where: { paths[$0] != nil }), let why = paths[place]
        else { return }
        let isItself = record.path == place
        try refuse(
          record, isItself ? why.reason : .directoryNotStored, isItself ? why.message : nil, in: places
        ) { claims.append($0) }
      }
      try journal.appendDurably(claims)
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
