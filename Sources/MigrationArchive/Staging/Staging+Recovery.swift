import MigrationSystem
package import MigrationWire

extension Staging {
  /// The state of an import that is known apart from the journal.
  package enum ImportFate: Sendable {
    /// Unknown: the journal shows the progress, and an import that had begun continues.
    case told
    /// The import is complete.
    case succeeded
    /// The import is not complete, and begins only when the sender has confirmed that all data has
    /// arrived.
    case mustBeAsked
  }

  /// Recovers the data that an earlier process left on a disk.
  ///
  /// Records before the last sync mark are trusted; later claims are compared with their checks.
  /// Unclaimed items are removed. `existing` sets how taken names are treated, if that may differ
  /// from the setting at the beginning; it also applies to later runs. Throws a `Failure`
  /// with the code `journal` if the journal cannot be trusted at all.
  ///
  /// With `hadNoTree` the tree is new: it was missing. A sync mark says that it was durable, so it
  /// may be missing only without one.
  package static func recover(
    from disk: any StagingDisk, for offer: Offer, transfer: TransferID, keys: TransferKeys,
    preserving preserved: Preserved = Preserved(), existing: Existing? = nil,
    import fate: ImportFate = .told, hadNoTree: Bool = false
  ) throws -> Staging {
    do {
      var survey = try JournalSurvey(of: disk.journal, keys: keys, transfer: transfer)
      survey.apply(fate)
      // The journal's first record is durable before any data is staged: without this record there
      // may be no data.
      if survey.end == 0, survey.trusted == 0, try disk.places().entries(of: nil).isEmpty {
        try disk.journal.truncate(to: 0)
        return try Staging(
          on: disk, for: offer, transfer: transfer, keys: keys, preserving: preserved, existing: existing ?? .refuse)
      }
      guard survey.isSound, !hadNoTree || survey.trusted == 0 else {
        throw Failure(.journal, "the journal of the staged data is damaged")
      }
      let journal = JournalFile(disk.journal, key: keys.journalKey, position: survey.end)
      let staging = Staging(
        on: disk, roots: roots(of: offer), transfer: transfer, keys: keys, journal: journal,
        umask: try CurrentProcess.umask(), preserving: preserved, existing: existing ?? survey.existing,
        formerExisting: existing == nil || existing == survey.existing ? nil : survey.existing,
        shared: Shared(
          ledger: Ledger(keys: keys, bound: offer.bound), stage: survey.stage, moving: survey.moving,
          asides: survey.asides, importBegan: survey.importBegan, earlierPlacing: survey.placing,
          keptCount: survey.keptCount))
      // A mark vouches for what was synced.
      staging.syncedEach.withLock { $0 = survey.trusted }
      // The rest of a record that was cut short may follow the end.
      if survey.stage == .receiving { try disk.journal.truncate(to: survey.end) }
      var replay = StagingReplay(staging, survey)
      try replay.run()
      if survey.stage == .receiving {
        let kept = try KeptFiles(staging, survey).claims(besides: replay.claimed)
        var sweep = StagingSweep(staging, claimed: replay.claimed.merging(kept) { claim, _ in claim })
        try sweep.run()
        try staging.clearDirectories()
        try staging.openIncomplete()
        // False claims must be marked durably before the next sync mark vouches for the records
        // before it.
        try staging.synchronize()
      }
      // An app's data may have been changed before it moves.
      if case .concluded = survey.stage, survey.existing != .setAside {
        try StagingSweep(staging, claimed: replay.claimed).checkSizes()
      }
      // The earlier process may have died before this record was durable, and the moves of an
      // import may outlive it.
      if case .concluded(let total) = survey.stage { try journal.appendDurably([.concluded(total)]) }
      if staging.formerExisting != nil { try staging.noteExisting() }
      staging.shared.withFigures { $0.uncounted = $0.held.bytes }
      return staging
    } catch let error as SystemError {
      throw Failure(.storage, "the staged data cannot be read", cause: error)
    } catch let error as Violation {
      throw Failure(.journal, "the journal of the staged data contradicts itself (\(error))")
    }
  }

  /// Removes the metadata that a failed completion has set on directories: items that are still to
  /// come must not inherit their access lists, and the directories may have been replaced
  /// meanwhile.
  private func clearDirectories() throws(Failure) {
    let places = disk.places()
    for position in shared.withLock({ $0.ledger.extendedDirectoryPositions }) {
      let path = try record(at: position).path
      // Metadata that cannot be removed could not be set either.
      try? places.clearExtendedMetadata(path)
    }
  }

  /// Records a changed setting for taken names, for later runs.
  private func noteExisting() throws(Failure) {
    try Failure.wrapping(.storage, "the journal cannot be written", journal.appendDurably([.existing(existing)]))
  }

  /// Removes the metadata that a completion without a journal record has set on a file, or that
  /// remained from an earlier file after a power loss.
  private func clear(_ file: any StagedFile) {
    // The record sets its permissions again; without write permission, attributes cannot be
    // removed.
    try? file.setMode(0o600)
    try? file.clearExtendedMetadata()
  }

  /// Opens the files of which parts exist; if there are too many, the surplus files start afresh.
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

/// A first look at a journal: its end, the part that is vouched for, and the claims that later
/// records withdraw.
struct JournalSurvey {
  /// The end of the records.
  private(set) var end: UInt64 = 0
  /// Everything before this position is durable.
  private(set) var trusted: UInt64 = 0
  private(set) var stage = Staging.Stage.receiving
  /// The items that were about to be moved, by their paths in staging.
  private(set) var moving: [ArchivePath: Staging.Move] = [:]
  /// The old entries that were about to be set aside, by the same paths.
  private(set) var asides: [ArchivePath: Staging.Aside] = [:]
  private(set) var importBegan: ItemTime?
  /// The newest of the complete files that were kept until their newer states were complete, and how many
  /// there were of all.
  private(set) var kept: [ArchivePath: KeptFiles.Kept] = [:]
  private(set) var keptCount = 0
  private(set) var placing = FolderImport.EarlierPlacing()
  private(set) var existing = Existing.refuse
  /// The totals of the received data when it was complete.
  private var concluded: Tally?
  private var voids: Set<UInt64> = []
  private let keys: TransferKeys
  /// The positions of the newest refusals.
  private var refused: [Mark: UInt64] = [:]
  private var discarded: [ArchivePath: UInt64] = [:]
  private var discardedTrees: [ArchivePath: UInt64] = [:]

  init(of file: any StagedFile, keys: TransferKeys, transfer: TransferID) throws {
    self.keys = keys
    let size = try file.size()
    var reader = JournalFile.Reader(file, key: keys.journalKey, end: size)
    while true {
      switch try reader.next() {
      case .record(let record, let position):
        guard position > 0 || record == .opened(transfer) else {
          throw Failure(.journal, "the journal belongs to another transfer")
        }
        note(record, position)
      case .end(let position):
        end = position
        if let later = try reader.laterSyncMark() { trusted = max(trusted, later) }
        return
      }
    }
  }

  /// Whether the required records are present: the first record, and all records that a mark
  /// vouches for.
  var isSound: Bool { end > 0 && trusted <= end }

  /// Applies knowledge of the import that goes beyond the journal.
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
      // Durable data may have been changed since.
      trusted = 0
      stage = .receiving
    case .moving(let path, let inode, let target): moving[path] = Staging.Move(inode: inode, target: target)
    case .aside(let path, let inode, let target): asides[path] = Staging.Aside(inode: inode, target: target)
    case .importing(let moment): importBegan = moment
    case .kept(let record, let name):
      kept[record.path] = KeptFiles.Kept(record: record, name: name, position: position)
      keptCount += 1
    case .existing(let existing): self.existing = existing
    case .placing(let path, let target): placing.note(path, target, at: position)
    case .imported: noteImport()
    case .refused(let path, let generation, _, _):
      refused[keys.mark(path: path, generation: generation)] = position
      // An earlier state of the item had been replaced by this one.
      discarded[path] = position
    case .opened, .item, .range, .sealed, .arrived, .rewritten, .following, .placed: break
    }
  }

  /// Whether a record was found to be false.
  func isVoid(at position: UInt64) -> Bool { voids.contains(position) }

  /// Whether a later record withdraws a claim about a path.
  func isVoid(_ path: ArchivePath, _ generation: Generation, at position: UInt64) -> Bool {
    if isVoid(at: position) { return true }
    // Another stream may have claimed a part of the item afterwards.
    if !refused.isEmpty, let refusal = refused[keys.mark(path: path, generation: generation)],
      !isVoid(at: refusal)
    {
      return true
    }
    if let later = discarded[path], position < later { return true }
    return !discardedTrees.isEmpty
      && path.lineage.contains { discardedTrees[$0].map { position < $0 } == true }
  }
}

/// Processes the claims of a journal in order, and adds the valid ones to the ledger.
struct StagingReplay {
  private let staging: Staging
  private let survey: JournalSurvey
  private let places: any StagingTree
  private var data: [UInt8] = []
  /// The file that was checked last; the next claim is usually about the same file.
  private var current: (path: ArchivePath, file: any StagedFile)?
  /// The claims about the tree, by the hash of the path.
  private(set) var claimed: [UInt64: Claim] = [:]

  /// The position of an item's claim, and the entry that must exist.
  struct Claim {
    let position: UInt64
    let isDirectory: Bool
    /// The length of a file; the least one while it is incomplete.
    var size: UInt64?
    var isWhole = true

    /// Whether a file with a length may be the claimed one.
    func allows(_ length: UInt64?) -> Bool {
      guard let size else { return true }
      return length.map { isWhole ? $0 == size : $0 >= size } ?? false
    }
  }

  init(_ staging: Staging, _ survey: JournalSurvey) {
    self.staging = staging
    self.survey = survey
    places = staging.disk.places()
  }

  /// Throws a `SystemError`, a `Violation` or a `Failure`.
  mutating func run() throws {
    var untrue: [JournalRecord] = []
    try staging.journal.forEach(upTo: survey.end) { position, record in
      let isTrusted = position < survey.trusted || survey.stage != .receiving
      switch record {
      case .item(let item, let lanes):
        guard !survey.isVoid(item.path, item.generation, at: position) else { return }
        if try isTrusted || holds(item, lanes) {
          try staging.finish(item)
          staging.place([(item, position)])
          claim(item, position)
        } else {
          try places.remove(item.path)
          untrue.append(.void(at: position))
        }
      case .range(let place, let lanes):
        guard !survey.isVoid(place.path, place.generation, at: position) else { return }
        if try isTrusted || holds(place, lanes) {
          let completed = try staging.shared.withLock { try $0.ledger.restore(place) }
          // A hole at the end has not made the file longer yet.
          claim(place.path, position, completed, least: place.isHole ? 0 : place.range.upperBound)
          if let completed { try complete(completed, position, isTrusted) }
        } else {
          untrue.append(.void(at: position))
        }
      case .sealed(let item):
        guard !survey.isVoid(item.path, item.generation, at: position) else { return }
        let completed = try staging.shared.withLock { try $0.ledger.restore(sealed: item) }
        claim(item.path, position, completed)
        if let completed { try complete(completed, position, isTrusted) }
      case .refused(let path, let generation, let size, let reason):
        guard !survey.isVoid(at: position) else { return }
        staging.restore(path, generation, size: size, reason)
      case .opened, .discarded, .discardedTree, .void, .synced, .concluded, .moving, .exposed, .imported,
        .existing, .placing, .aside, .arrived, .rewritten, .following, .importing, .placed, .kept:
        break
      }
    }
    try staging.journal.append(untrue)
  }

  private mutating func claim(_ item: ItemRecord, _ position: UInt64) {
    // A hard link is created at the end; an existing one was created by a completion that failed.
    guard item.kind != .hardLink, item.kind != .metadata else { return }
    claimed[EarlierItems.hash(item.path, staging.journal.key)] = Claim(
      position: position, isDirectory: item.kind == .directory, size: item.kind == .file ? item.size : nil)
  }

  private mutating func claim(
    _ path: ArchivePath, _ position: UInt64, _ completed: ItemRecord?, least: UInt64 = 0
  ) {
    let hash = EarlierItems.hash(path, staging.journal.key)
    let size = completed?.size ?? max(least, claimed[hash]?.size ?? 0)
    claimed[hash] = Claim(position: position, isDirectory: false, size: size, isWhole: completed != nil)
  }

  private mutating func complete(_ record: ItemRecord, _ position: UInt64, _ isTrusted: Bool) throws {
    staging.countLosses(of: record)
    // The claim was durable, and so was the metadata set after the last write of the file.
    guard !isTrusted, let file = try file(record.path) else { return }
    try staging.settle(file, record)
  }

  // MARK: Checking

  /// Whether an item exists as claimed. Metadata that a power loss may have removed is set again.
  private mutating func holds(_ item: ItemRecord, _ lanes: PieceLanes?) throws -> Bool {
    let kind = try places.kind(of: item.path)
    switch item.body {
    case .hardLink, .metadata: return true
    case .directory: return kind == .directory
    case .symbolicLink(let target):
      guard kind == .symbolicLink, try places.readLink(item.path) == target else { return false }
      staging.setOwner(in: places, item)
      staging.setTime(in: places, item)
      return true
    case .file(let size):
      guard kind == .regular, let file = try file(item.path), try file.size() == size else { return false }
      if let lanes {
        let place = FilePiece(path: item.path, generation: item.generation, range: 0..<size)
        guard try holds(place, lanes) else { return false }
      }
      try staging.settle(file, item)
      return true
    }
  }

  private mutating func holds(_ place: FilePiece, _ lanes: PieceLanes) throws -> Bool {
    guard let file = try file(place.path) else { return false }
    if place.isHole {
      // Bytes where there should be none are not a hole; clearing them costs nothing.
      try file.clear(place.range)
      return lanes == PieceLanes()
    }
    let count = place.range.count
    guard count <= Limits.chunk else { return false }
    if data.count < count { data = [UInt8](repeating: 0, count: count) }
    return try file.read(at: place.range.lowerBound, into: &data, 0..<count) == count
      && lanes == PieceLanes(checkLanes(of: data.span.extracting(..<count)))
  }

  /// The file at a path; nil if there is none.
  private mutating func file(_ path: ArchivePath) throws(SystemError) -> (any StagedFile)? {
    if let current, current.path == path { return current.file }
    guard try places.kind(of: path) == .regular else { return nil }
    let file = try places.openFile(path)
    current = (path, file)
    return file
  }
}
