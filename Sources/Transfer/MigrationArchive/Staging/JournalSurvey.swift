import MigrationSystem
import MigrationWire

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
  private(set) var asides: [ArchivePath: Staging.Move] = [:]
  private(set) var importBegan: ItemTime?
  /// The newest of the complete files that were kept until their newer states were complete, and how many
  /// there were of all.
  private(set) var kept: [ArchivePath: ReplacedFiles.Kept] = [:]
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
    case .aside(let path, let inode, let target): asides[path] = Staging.Move(inode: inode, target: target)
    case .importing(let moment): importBegan = moment
    case .kept(let record, let name):
      kept[record.path] = ReplacedFiles.Kept(record: record, name: name, position: position)
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
