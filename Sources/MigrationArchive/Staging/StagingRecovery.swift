import MigrationSystem
package import MigrationWire

extension Staging {
  /// What is known of an import besides what the journal says.
  package enum ImportFate: Sendable {
    /// Nothing: the journal tells how far it is, and what had begun goes on.
    case told
    /// It is done.
    case succeeded
    /// It is not done, and begins only when the sender has made sure that all is there.
    case mustBeAsked
  }

  /// Takes back what an earlier process left on a disk.
  ///
  /// What lies in front of the last sync mark is believed; later claims are checked against their tags. What is there and not
  /// claimed is removed. `existing` is what is wanted of names that are taken, if that may be something else than at the
  /// beginning; it holds for later runs as well. Throws an `ArchiveError` with the code journal when the journal cannot be believed at all.
  package static func recover(
    from disk: any StagingDisk, for offer: Offer, transfer: TransferID, keys: TransferKeys,
    sealer: any ChunkSealing, preserving preserved: Preserved = Preserved(), existing: Existing? = nil,
    import fate: ImportFate = .told
  ) throws -> Staging {
    do {
      var survey = try JournalSurvey(of: disk.journal, keys: keys, transfer: transfer)
      survey.apply(fate)
      // The journal's first record is durable before anything is staged: without it there may be nothing.
      if survey.end == 0, survey.trusted == 0, try disk.places().entries(of: nil).isEmpty {
        try disk.journal.truncate(to: 0)
        return try Staging(
          on: disk, for: offer, transfer: transfer, keys: keys, preserving: preserved, existing: existing ?? .refuse)
      }
      guard survey.isSound else { throw ArchiveError(.journal, "the journal of what was staged is damaged") }
      let journal = JournalFile(disk.journal, key: keys.journalKey, position: survey.end)
      let staging = Staging(
        on: disk, roots: roots(of: offer), transfer: transfer, keys: keys, journal: journal,
        umask: try CurrentProcess.umask(), preserving: preserved, existing: existing ?? survey.existing,
        formerExisting: existing == nil || existing == survey.existing ? nil : survey.existing,
        shared: Shared(
          ledger: Ledger(keys: keys, bound: offer.bound), stage: survey.stage, moving: survey.moving,
          earlierPlacing: survey.placing))
      // Behind the end there may be the rest of a record that was cut short.
      if survey.stage == .receiving { try disk.journal.truncate(to: survey.end) }
      var replay = StagingReplay(staging, survey, sealer: sealer)
      try replay.run()
      if survey.stage == .receiving {
        var sweep = StagingSweep(staging, claimed: replay.claimed)
        try sweep.run()
        try staging.clearDirectories()
        try staging.openIncomplete()
        // What was found untrue must be told for good before the next sync mark vouches for what stands in front of it.
        try staging.synchronize()
      }
      // The earlier process may have died before this was durable, and what an import moves may outlive it.
      if case .concluded(let total) = survey.stage { try journal.appendDurably([.concluded(total)]) }
      if staging.formerExisting != nil { try staging.noteExisting() }
      return staging
    } catch let error as SystemError {
      throw ArchiveError(.storage, "what was staged cannot be read", cause: error)
    } catch let error as Violation {
      throw ArchiveError(.journal, "the journal of what was staged contradicts itself (\(error))")
    }
  }

  /// Takes back what an end that came to nothing has given to directories: what is still to come must not inherit their
  /// lists, and they may have become others meanwhile.
  private func clearDirectories() throws(ArchiveError) {
    let places = disk.places()
    for position in shared.withLock({ $0.ledger.extendedDirectoryPositions }) {
      let path = try record(at: position).path
      // What cannot be taken away could not be set either.
      try? places.clearExtendedMetadata(path)
    }
  }

  /// Lets later runs know of another way to treat names that are taken.
  private func noteExisting() throws(ArchiveError) {
    do {
      try journal.appendDurably([.existing(existing)])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
  }

  /// Takes back what an end that is not in the journal has given to a file, or what stood in its place before a loss of power.
  private func clear(_ file: any StagedFile) {
    // Its rights come again with its record; without that of writing, attributes cannot be taken away.
    try? file.setMode(0o600)
    try? file.clearExtendedMetadata()
  }

  /// Opens the files of which parts are there; of very many the surplus starts afresh.
  private func openIncomplete() throws {
    let places = disk.places()
    let files = shared.withLock { $0.ledger.incompleteFiles }
    for (index, file) in files.enumerated() {
      guard index < Limits.incompleteFiles - Limits.streams else {
        shared.withLock { _ = $0.ledger.discard(file.path) }
        try journal.append([.discarded(file.path)])
        try places.remove(file.path)
        continue
      }
      let open = OpenFile(file: try places.openFile(file.path), isRecovered: true)
      clear(open.file)
      shared.withLock { $0.open[file.number] = open }
    }
  }
}

/// A first look at a journal: how far it goes, how much of it is vouched for, and what later records take back.
struct JournalSurvey {
  /// Where the records end.
  private(set) var end: UInt64 = 0
  /// What stands in front of this is durable.
  private(set) var trusted: UInt64 = 0
  private(set) var stage = Staging.Stage.receiving
  /// What was about to be moved, by its path in staging.
  private(set) var moving: [ArchivePath: Staging.Move] = [:]
  private(set) var placing = EarlierPlacing()
  private(set) var existing = Existing.refuse
  /// What had arrived when everything had.
  private var concluded: Tally?
  private var voids: Set<UInt64> = []
  private let keys: TransferKeys
  private var refused: Set<Mark> = []
  private var discarded: [ArchivePath: UInt64] = [:]
  private var discardedTrees: [ArchivePath: UInt64] = [:]

  init(of file: any StagedFile, keys: TransferKeys, transfer: TransferID) throws {
    self.keys = keys
    let size = try file.size()
    var reader = JournalReader(file, key: keys.journalKey, end: size)
    while true {
      switch try reader.next() {
      case .record(let record, let position):
        guard position > 0 || record == .opened(transfer) else {
          throw ArchiveError(.journal, "the journal belongs to another transfer")
        }
        note(record, position)
      case .end(let position):
        end = position
        if let later = try reader.laterSyncMark() { trusted = max(trusted, later) }
        return
      }
    }
  }

  /// Whether nothing is missing that must be there: the first record, and all that a mark vouches for.
  var isSound: Bool { end > 0 && trusted <= end }

  /// Takes into account what somebody knows better than the journal.
  mutating func apply(_ fate: Staging.ImportFate) {
    switch fate {
    case .told: break
    case .succeeded: noteImport()
    case .mustBeAsked: if case .concluded = stage { stage = .receiving }
    }
  }

  private mutating func noteImport() {
    if let concluded { stage = .imported(concluded) }
  }

  private mutating func note(_ record: JournalRecord, _ position: UInt64) {
    switch record {
    case .synced(let upTo): trusted = max(trusted, upTo)
    case .discarded(let path): discarded[path] = position
    case .discardedTree(let path): discardedTrees[path] = position
    case .void(let at): voids.insert(at)
    case .concluded(let total):
      concluded = total
      stage = .concluded(total)
    case .exposed:
      // What was durable may have been changed since.
      trusted = 0
      stage = .receiving
    case .moving(let path, let inode, let target): moving[path] = Staging.Move(inode: inode, target: target)
    case .existing(let existing): self.existing = existing
    case .placing(let path, let target): placing.note(path, target, at: position)
    case .imported: noteImport()
    case .refused(let path, let generation, _, _): refused.insert(keys.mark(path: path, generation: generation))
    case .opened, .item, .range, .sealed: break
    }
  }

  /// Whether a record was found untrue.
  func isVoid(at position: UInt64) -> Bool { voids.contains(position) }

  /// Whether a claim about a path is taken back further on.
  func isVoid(_ path: ArchivePath, _ generation: Generation, at position: UInt64) -> Bool {
    if isVoid(at: position) { return true }
    // Another stream may have claimed a part of it after that.
    if !refused.isEmpty, refused.contains(keys.mark(path: path, generation: generation)) { return true }
    if let later = discarded[path], position < later { return true }
    return !discardedTrees.isEmpty
      && path.lineage.contains { discardedTrees[$0].map { position < $0 } == true }
  }
}
