import MigrationSystem
import MigrationWire

/// Records how the items of an archive lie at the destination.
extension FolderImport {
  /// Records, once more, every item that a run before has put in place: it may have died at this.
  mutating func recordEarlierArrivals() {
    do {
      try noteEarlierChanges()
      guard arrived != nil else { return }
      try noteLeft()
      records = try EarlierItems(staging.journal, upTo: staging.journal.position)
      try staging.journal.forEach(upTo: staging.journal.position) { _, claim in
        switch claim {
        case .following(let path): following.insert(path)
        case .refused(let path, _, _, .removedThere): keptAway.insert(path)
        default: break
        }
      }
    } catch {
      arrived?.noteUnrecorded(error)
      return
    }
    recordArrivals()
  }

  private func canBeMerged(_ directory: Item) throws(Failure) -> Bool {
    switch existing {
    case .setAside: false
    case .merge: try !isWhole(directory)
    case .refuse, .keepBoth, .skip, .replace, .update: true
    }
  }

  /// Notes the items that a run before has left in staging, apart from folders that it may have merged.
  private mutating func noteLeft() throws(Failure) {
    var pending = try entries(of: nil)
    while var item = pending.popLast() {
      if let target = staging.shared.withLock({ $0.moving[item.path]?.target }) { item = item.renamed(target) }
      if item.kind == .directory, try canBeMerged(item) {
        pending += try entries(of: item)
      } else {
        left.insert(item.path)
      }
    }
  }

  /// Records every item that this import, or a run of it before, has put in place.
  func recordArrivals() {
    guard let arrived else { return }
    do {
      let isLater = !arrived.isEmpty
      if isLater {
        try arrived.recordMoved()
        try voidSetAside(arrived)
      }
      let contents = try ArrivedContents(of: staging.journal)
      let hasLinks = try recordArrivals(in: arrived, contents, asLinks: false)
      try arrived.flush()
      // Behind the files, of which they are other names: streams bring both in any order.
      if hasLinks {
        _ = try recordArrivals(in: arrived, contents, asLinks: true)
        try arrived.flush()
      }
      // After the records of the arrived items: an item of another kind, or another name, is not away.
      if isLater { try findAway(arrived) }
    } catch {
      arrived.noteUnrecorded(error)
    }
  }

  /// Records the hard links, or all other items. Returns whether there are items of the kind that
  /// is left out.
  private func recordArrivals(
    in arrived: ArrivedItems, _ contents: ArrivedContents, asLinks: Bool
  ) throws -> Bool {
    let moves = staging.shared.withLock { $0.moving.mapValues(\.target) }
    var hasOthers = false
    try staging.journal.forEach(upTo: staging.journal.position) { _, claim in
      guard let record = claim.completedItem else { return }
      if asLinks != (record.kind == .hardLink) {
        hasOthers = true
        return
      }
      if !keptAway.isEmpty { try noteKeptAway(record, arrived) }
      guard staging.shared.withLock({ $0.ledger.holds(record) }) else { return }
      if case .metadata = record.body {
        if let item = followed(record, arrived, contents) { try arrived.add(item) }
        return
      }
      guard let target = target(of: record.path, moves),
        var item = try arrival(of: record, at: target, arrived, contents)
      else { return }
      if !asLinks { item.changed = record.changed }
      if case .file = record.body { item.sum = contents.sum(of: claim) }
      try arrived.add(item)
    }
    return hasOthers
  }

  /// The place of an item of the archive at the destination; nil if it was not put there.
  func target(of path: ArchivePath, _ moves: [ArchivePath: ArchivePath]) -> ArchivePath? {
    let lineage = path.lineage
    if lineage.contains(where: { left.contains($0) || notStored[$0] != nil }) { return nil }
    guard let moved = lineage.last(where: { moves[$0] != nil }), let target = moves[moved] else {
      return home(of: path)
    }
    return try? ArchivePath(target.bytes + path.bytes.dropFirst(moved.bytes.count))
  }

  /// The record of an item; nil if the entry at its place differs from the imported item.
  private func arrival(
    of record: ItemRecord, at target: ArchivePath, _ arrived: ArrivedItems, _ contents: ArrivedContents
  ) throws -> ArrivedItem? {
    let there = (try? destination.occupant(at: target)) ?? nil
    let entry = there.flatMap { isAsPlaced($0, contents) ? Self.entry($0) : nil }
    let placed = contents.rewritten[record.path]
    let source = arrived.source(of: record.path)
    guard there == nil || there?.kind == record.kind.fileKind else { return nil }
    switch record.body {
    case .directory:
      // The earlier record of a folder tells that it was moved or removed here, and the user's decision.
      if there == nil, arrived.item(at: record.path)?.target == target { return nil }
      return ArrivedItem(
        source: source, path: record.path, target: target, kind: .directory, modified: record.modified ?? Self.noTime,
        entry: entry)
    case .symbolicLink(let content):
      return ArrivedItem(
        source: source, path: record.path, target: target, kind: .symbolicLink,
        modified: record.modified ?? Self.noTime,
        content: content, entry: entry)
    case .file(let size):
      guard let modified = record.modified.map({ staging.abilities.traits.kept($0) }) else { return nil }
      var item = file(record.path, target, size, modified, there, entry, placed: placed ?? size)
      item?.isVerbatim = placed == nil
      return item
    case .hardLink(let other):
      // It has the size and the time of the other name.
      guard let first = arrived.item(at: other),
        var item = file(record.path, target, first.size, first.modified, there, entry, placed: placed ?? first.size)
      else { return nil }
      (item.changed, item.sum, item.isVerbatim) = (first.changed, first.sum, first.isVerbatim && placed == nil)
      return item
    case .metadata: return nil
    }
  }

  private func file(
    _ path: ArchivePath, _ target: ArchivePath, _ size: UInt64, _ modified: ItemTime, _ there: ExistingEntry?,
    _ entry: ArrivedItem.Entry?, placed: UInt64
  ) -> ArrivedItem? {
    if let there { guard there.size == placed, there.modified.map({ ItemTime($0) }) == modified else { return nil } }
    return ArrivedItem(
      source: arrived?.source(of: path) ?? .unknown, path: path, target: target, kind: .file, size: size,
      modified: modified, entry: entry)
  }

  /// Whether only this import has changed an entry since it was staged: others may have, keeping its size
  /// and time. What came with a folder was not changed since the import began. A folder is never replaced,
  /// and where entries prove nothing, the content tells later.
  private func isAsPlaced(_ there: ExistingEntry, _ contents: ArrivedContents) -> Bool {
    guard tellsEntriesApart, there.kind != .directory else { return true }
    guard let changed = there.changed else { return false }
    if let began = staging.shared.withLock({ $0.importBegan }), changed <= Timestamp(began) { return true }
    return contents.placed[there.inode] == ItemTime(changed)
  }

  private static func entry(_ there: ExistingEntry) -> ArrivedItem.Entry? {
    there.changed.map {
      ArrivedItem.Entry(
        inode: there.inode, changed: ItemTime($0), size: there.size,
        modified: there.modified.map { ItemTime($0) } ?? noTime)
    }
  }

  /// The record of a file whose metadata has come. A file that was touched here still counts as touched.
  private func followed(_ record: ItemRecord, _ arrived: ArrivedItems, _ contents: ArrivedContents) -> ArrivedItem? {
    guard var item = arrived.item(at: record.path), notStored[record.path] == nil else { return nil }
    item.changed = record.changed
    if following.contains(record.path), let there = (try? destination.occupant(at: item.target)) ?? nil,
      isAsPlaced(there, contents)
    {
      item.entry = Self.entry(there)
    }
    return item
  }

  private static var noTime: ItemTime { ItemTime(seconds: 0, nanoseconds: 0) }
}
