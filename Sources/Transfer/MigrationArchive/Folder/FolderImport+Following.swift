import MigrationSystem
import MigrationWire

/// Sets the metadata of files whose content has arrived before, and that were not touched here since.
extension FolderImport {
  /// Lets the metadata follow that came without content.
  mutating func followMetadata() throws(Failure) {
    guard let arrived else { return }
    var positions: [UInt64] = []
    try reading {
      try staging.journal.forEach(upTo: staging.journal.position) { position, claim in
        guard case .item(let record, _) = claim, case .metadata = record.body,
          staging.shared.withLock({ $0.ledger.holds(record) })
        else { return }
        positions.append(position)
      }
    }
    while !positions.isEmpty {
      var records: [(record: ItemRecord, earlier: ArrivedItem)] = []
      for position in positions.prefix(Self.together) {
        let record = try staging.record(at: position)
        if let earlier = try toFollow(record, arrived) { records.append((record, earlier)) }
      }
      positions.removeFirst(min(Self.together, positions.count))
      guard !records.isEmpty else { continue }
      try journal(records.map { .following($0.record.path) })
      for (record, earlier) in records { follow(record, earlier) }
    }
  }

  /// The earlier version of a file, if it gets other metadata.
  private mutating func toFollow(
    _ record: ItemRecord, _ arrived: ArrivedItems
  ) throws(Failure) -> ArrivedItem? {
    guard let earlier = arrived.item(at: record.path) else {
      notStored[record.path] = (.contentUnknown, nil)
      return nil
    }
    guard permit?.allows(at: earlier.target, isLink: false) ?? true else {
      notStored[record.path] = (.notTaken, nil)
      return nil
    }
    var facts = ItemFate(.leaf, ItemFate.Earlier(.metadata, since(earlier)), existing: .merge)
    facts.earlier?.isWantedAgain = arrived.removals(of: record.path) == .again
    switch facts.fate {
    case .follows: return earlier
    case .unclear,
      .removedHere where facts.earlier?.isWantedAgain == true:
      notStored[record.path] = (.removedThere, nil)
    default: break
    }
    return nil
  }

  private mutating func follow(_ record: ItemRecord, _ earlier: ArrivedItem) {
    do throws(SystemError) {
      guard let there = try destination.occupant(at: earlier.target) else { return }
      let file = try destination.open(file: earlier.target, seen: there)
      // Attributes need the permission to write.
      if there.mode & 0o200 == 0 { try file.setMode(there.mode | 0o200) }
      try file.clearExtendedMetadata()
      let kept = staging.setExtended(of: file, record)
      staging.setTime(of: file, record)
      try staging.keepMode { () throws(SystemError) in try file.setMode(staging.mode(of: record, kept)) }
      guard !doubtful.contains(record.path) else { return }
      following.insert(record.path)
      notePlaced(at: earlier.target)
      // At once: without this record, a later run knows less.
      recordPlaced()
    } catch {
      // It keeps what it had, as far as that was not changed; the next pass tries again.
      staging.lost(.mode)
    }
  }

  /// The journal's facts about arrived contents, beyond their records.
  struct ArrivedContents {
    /// The sizes of staged files that got other bytes for this device.
    private(set) var rewritten: [ArchivePath: UInt64] = [:]
    /// The times of change of entries after they were put in place alone, or got other metadata.
    private(set) var placed: [UInt64: ItemTime] = [:]
    /// The sums of files that came in pieces.
    private var sums: [ArchivePath: (generation: Generation, sum: ContentSum)] = [:]

    init(of journal: JournalFile) throws {
      var voids: Set<UInt64> = []
      try journal.forEach(upTo: journal.position) { _, claim in
        switch claim {
        case .rewritten(let path, let size): rewritten[path] = size
        case .placed(let inode, let changed): placed[inode] = changed
        case .void(let position): voids.insert(position)
        default: break
        }
      }
      try journal.forEach(upTo: journal.position) { position, claim in
        switch claim {
        case .range(let place, let lanes) where !voids.contains(position):
          var entry = sums[place.path] ?? (place.generation, ContentSum())
          if entry.generation != place.generation { entry = (place.generation, ContentSum()) }
          if !place.isHole { entry.sum.add(lanes, at: place.range) }
          sums[place.path] = entry
        case .discarded(let path): sums[path] = nil
        case .discardedTree(let path): sums = sums.filter { !$0.key.isWithin(path) }
        default: break
        }
      }
    }

    /// The sum of the file that a record completes; empty if it is not known.
    func sum(of claim: JournalRecord) -> [UInt8] {
      switch claim {
      case .item(let record, let lanes):
        var sum = ContentSum()
        guard record.size > 0 else { return sum.bytes ?? [] }
        guard let lanes else { return [] }
        sum.add(lanes, at: 0..<record.size)
        return sum.bytes ?? []
      case .sealed(let record):
        guard let entry = sums[record.path], entry.generation == record.generation else { return [] }
        return entry.sum.bytes ?? []
      default: return []
      }
    }
  }
}
