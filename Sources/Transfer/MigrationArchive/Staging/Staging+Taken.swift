import MigrationSystem
package import MigrationWire

extension Staging {
  /// The items that the user of this device permits in a session.
  struct Permitted: Equatable, Sendable {
    /// Those that the user of this device takes; nil for all.
    let permit: ArrivalPermit?
    /// The roots that are not left out; nil for all.
    let roots: Set<[UInt8]>?

    fileprivate func isAll(of announced: Set<[UInt8]>?) -> Bool {
      permit == nil && (roots.map { announced?.isSubset(of: $0) == true } ?? true)
    }

    fileprivate func hasRoot(of path: ArchivePath) -> Bool { roots?.contains(Array(path.root)) ?? true }

    fileprivate func allows(_ record: ItemRecord) -> Bool { permit?.allows(record) ?? true }

    fileprivate func allows(_ path: ArchivePath) -> Bool { permit?.allows(path, isLink: false) ?? true }
  }

  /// From now on, only these items of these roots are taken; nil for all. Called before a session,
  /// and before an import that continues: the user's answer, an option or the places of programs
  /// may have changed.
  ///
  /// What is staged and not taken any more is removed: it is refused by name, or forgotten with its
  /// root. What was refused and is taken now may come.
  package func take(only permit: ArrivalPermit?, of roots: Set<[UInt8]>? = nil) throws(Failure) {
    let taken = Permitted(permit: permit, roots: roots)
    guard permitted.withLock({ $0 }) != taken else { return }
    let hasRefused = shared.withLock { $0.ledger.refusedTotal.items > 0 || !$0.ledger.refusedWithoutRecord.isEmpty }
    // An import that has begun is completed.
    let mayRemove = if case .imported = stage { false } else { shared.withLock { $0.moving.isEmpty } }
    do {
      if stage == .receiving, hasRefused { try allow(taken) }
      if mayRemove, !taken.isAll(of: announced) { try remove(besides: taken) }
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(.storage, "the journal cannot be read or written", cause: error as? SystemError)
    }
    permitted.withLock { $0 = taken }
  }

  /// Forgets the refusals of what is taken now, and of roots that are left out. Every claim about these
  /// states is void: nothing of them is on the disk.
  private func allow(_ taken: Permitted) throws {
    var void: [JournalRecord] = []
    var allowed: [Mark: (path: ArchivePath, generation: Generation)] = [:]
    try journal.forEach(upTo: journal.position) { position, claim in
      guard case .refused(let path, let generation, _, let reason) = claim,
        shared.withLock({ $0.ledger.isRefused(path, generation) })
      else { return }
      let isAllowed = (reason == .notTaken || reason == .targetNotStored) && taken.allows(path)
      guard isAllowed || !taken.hasRoot(of: path) else { return }
      void.append(.void(at: position))
      allowed[keys.mark(path: path, generation: generation)] = (path, generation)
    }
    guard !allowed.isEmpty else { return }
    // Another stream may have claimed a part after the refusal.
    var claims: [JournalRecord] = []
    try journal.forEach(upTo: journal.position) { position, claim in
      guard let (path, generation) = claim.state, allowed[keys.mark(path: path, generation: generation)] != nil
      else { return }
      claims.append(.void(at: position))
    }
    try journal.appendDurably(claims + void)
    shared.withLock { shared in
      for (path, generation) in allowed.values {
        if shared.ledger.allow(path, generation) { shared.refusals.awaited[path] = nil }
      }
      shared.refusals.remove { $0.mark(keys).map { allowed[$0] != nil } ?? false }
    }
  }

  /// Removes the staged items that are not taken.
  private func remove(besides taken: Permitted) throws {
    let places = disk.places()
    let isConcluded = if case .concluded = stage { true } else { false }
    var gone: [ArchivePath] = []
    var roots: Set<[UInt8]> = []
    try journal.forEach(upTo: journal.position) { _, claim in
      guard let record = claim.completedItem, shared.withLock({ $0.ledger.holds(record) }) else { return }
      if !taken.hasRoot(of: record.path) {
        shared.withLock { $0.ledger.drop(record) }
        roots.insert(Array(record.path.root))
      } else if try !taken.allows(record) && (!isConcluded || places.kind(of: record.path) != nil) {
        try refuse(record, .notTaken, nil, in: places)
      } else {
        return
      }
      gone.append(record.path)
    }
    var claims = try roots.map { JournalRecord.discardedTree(try ArchivePath($0)) }
    for (path, _) in shared.withLock({ $0.ledger.incompleteFiles })
    where !taken.hasRoot(of: path) || !taken.allows(path) {
      claims.append(.discarded(path))
      shared.withLock { shared in if let number = shared.ledger.discard(path) { shared.open[number] = nil } }
      gone.append(path)
    }
    guard !gone.isEmpty else { return }
    // In the journal first: a missing item without a record counts as damage, or as moved.
    try journal.appendDurably(claims)
    for path in gone { try remove(path, in: places) }
    guard isConcluded else { return try removeEmptied(gone, in: places) }
    for path in Set(gone.compactMap(\.parent)) {
      if let record = try directoryRecord(path) { try setMetadata(of: record, in: places) }
    }
  }
}

extension JournalRecord {
  /// The state of an item that this record claims something of.
  fileprivate var state: (path: ArchivePath, generation: Generation)? {
    switch self {
    case .range(let place, _): (place.path, place.generation)
    default: completedItem.map { ($0.path, $0.generation) }
    }
  }
}
