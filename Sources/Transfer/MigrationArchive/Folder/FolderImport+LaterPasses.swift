package import MigrationSystem
package import MigrationWire

/// Gathers the facts of a later pass of a migration: what the same source has brought before, and what
/// became of it. `ItemFate` decides. Nothing that was touched here since is replaced, and nothing that
/// was moved or removed here comes back. Doubt means touched.
extension FolderImport {
  /// What is known of an item before anything looks at its own name.
  mutating func facts(of item: Item) throws(Failure) -> ItemFate {
    let isRoot = item.path.parent == nil
    guard let earlier = earlier(item) else {
      return ItemFate(item.kind == .directory ? .folder : .leaf, existing: existing, isRoot: isRoot)
    }
    var kind = item.kind == .directory ? ItemFate.Kind.folder : .leaf
    if existing == .setAside { kind = .whole }
    if existing == .merge, kind == .folder, try isWhole(item) { kind = .whole }
    return ItemFate(kind, try facts(of: item, kind, earlier), existing: existing, isRoot: isRoot)
  }

  /// The record of an item's earlier version, if earlier versions count.
  func earlier(_ item: Item) -> ArrivedItem? {
    guard existing == .merge || existing == .update || existing == .setAside && item.path.parent == nil else {
      return nil
    }
    return arrived?.item(at: item.path)
  }

  private mutating func facts(
    of item: Item, _ kind: ItemFate.Kind, _ earlier: ArrivedItem
  ) throws(Failure) -> ItemFate.Earlier {
    let isSameKind = earlier.kind.fileKind == item.kind
    var since = since(earlier)
    if since == .untouched {
      // A unit is replaced whole, or not at all: items that the sender has removed from it must not stay.
      let isWhole = kind == .whole || !isSameKind && earlier.kind == .directory
      if isWhole, !isUntouched(earlier) { since = .touched }
      if kind != .folder || !isSameKind, try !isOnOneMount(item, earlier.target) { since = .touched }
    }
    var source = ItemFate.Source.content
    if !isSameKind {
      source = .kind
    } else if item.kind != .directory {
      if !isChanged(item, earlier) { source = .same }
    } else if kind == .whole, try isUnchanged(item, earlier) {
      source = .same
    }
    // It comes again as a whole, or not at all.
    if kind == .whole, try lacksWanted(item) { since = .removed }
    var facts = ItemFate.Earlier(source, since, isWantedAgain: arrived?.removals(of: item.path) == .again)
    if facts.isAway, kind == .folder, isSameKind { facts.hasNew = try holdsWanted(item) }
    return facts
  }

  // MARK: Comparing

  /// What has become of an item of an earlier migration; it counts as touched unless it is compared.
  func since(_ earlier: ArrivedItem, comparing isCompared: Bool = true) -> ItemFate.Since {
    let there: ExistingEntry?
    do {
      there = try destination.occupant(at: earlier.target)
    } catch {
      // The item's path leads elsewhere now.
      return error.isNotFound || error.isNotDirectory || error.isSymbolicLink ? .removed : .touched
    }
    guard let there else { return .removed }
    guard there.kind == earlier.kind.fileKind else { return .displaced }
    guard isCompared else { return .touched }
    let isUntouched = earlier.isUntouched(
      there, tellsEntriesApart: staging.abilities.tellsEntriesApart, mayHaveChanged: replaced.contains(there.inode)
    ) { destination.digest(of: earlier.target) }
    return isUntouched ? .untouched : .touched
  }

  /// Whether a file or link differs from the version that has arrived. Compares the records: the
  /// staged file may have been changed for this device.
  func isChanged(_ item: Item, _ earlier: ArrivedItem) -> Bool {
    guard let record = try? records?.record(of: item.path, in: staging.journal) else { return true }
    switch (record.body, earlier.kind) {
    case (.file(let size), .file):
      return size != earlier.size || hasChanged(record, earlier)
    case (.symbolicLink(let target), .symbolicLink): return target != earlier.content
    case (.hardLink(let other), .file):
      guard let first = try? records?.record(of: other, in: staging.journal) else { return true }
      return first.size != earlier.size || hasChanged(first, earlier)
    default: return true
    }
  }

  /// Whether a file has another time, of its content or of its last change, than the arrived version.
  private func hasChanged(_ record: ItemRecord, _ earlier: ArrivedItem) -> Bool {
    if record.modified?.rounded(to: staging.abilities.timeGranularity) != earlier.modified { return true }
    guard let changed = record.changed, let before = earlier.changed else { return false }
    return changed != before
  }

  /// Whether all these files and links equal the versions that have arrived.
  func areUnchanged(_ items: [Item]) -> Bool {
    guard let arrived else { return false }
    return items.allSatisfy { item in arrived.item(at: item.path).map { !isChanged(item, $0) } ?? false }
  }

  /// Whether a staged item, with everything in it, is what has arrived, and nothing is missing: that would
  /// have changed the time of a directory.
  mutating func isUnchanged(_ item: Item, _ earlier: ArrivedItem) throws(Failure) -> Bool {
    guard item.kind == .directory else { return !isChanged(item, earlier) }
    guard let arrived, earlier.kind == .directory,
      try staging.directoryRecord(item.path)?.modified == earlier.modified
    else { return false }
    for item in try entries(of: item) {
      guard let earlier = arrived.item(at: item.path), try isUnchanged(item, earlier) else { return false }
    }
    return true
  }

  /// Whether a directory has exactly the items that have arrived in it, all untouched.
  private func isUntouched(_ directory: ArrivedItem) -> Bool {
    arrived?.isWholly(directory, { since($0) == .untouched }, names: { (try? destination.names(in: $0)) ?? nil })
      == true
  }
}

extension ArrivedItems {
  /// Whether the roots of these keys, at these places of a directory, have exactly the items that
  /// have arrived there, untouched, apart from some items.
  package func areUntouched(
    _ roots: [(key: [UInt8], place: [UInt8])], in home: borrowing Directory, besides others: Set<ArchivePath> = []
  ) -> Bool {
    // A program that writes one of them may rename it, which changes the folder.
    let folders = Set(others.compactMap(\.parent))
    return roots.allSatisfy { root in
      guard let path = try? ArchivePath(root.key), let item = item(at: path), item.target.bytes == root.place else {
        return false
      }
      return isWholly(
        item,
        { item in
          if others.contains(item.path) { return true }
          guard let status = try? Self.parent(of: item.target, in: home).status(item.target.name) else { return false }
          return item.isUntouched(
            ExistingEntry(status), tellsEntriesApart: true, mayHaveChanged: folders.contains(item.path)
          ) { nil }
        }, names: { try? home.openDirectoryBeneath($0.bytes).names() }, besides: others)
    }
  }

  private static func parent(of path: ArchivePath, in home: borrowing Directory) throws(SystemError) -> Directory {
    guard let parent = path.parent else { return try home.duplicate() }
    return try home.openDirectoryBeneath(parent.bytes)
  }

  /// Whether an item, with everything in it, is untouched, and nothing else is in it, apart from some
  /// items.
  fileprivate func isWholly(
    _ item: ArrivedItem, _ isUntouched: (ArrivedItem) -> Bool, names: (ArchivePath) -> [[UInt8]]?,
    besides others: Set<ArchivePath> = []
  ) -> Bool {
    var pending = [item]
    while let next = pending.popLast() {
      guard isUntouched(next) else { return false }
      guard next.kind == .directory else { continue }
      guard let names = names(next.target) else { return false }
      for name in names {
        guard let path = try? next.path.appending(name.span) else { return false }
        if others.contains(path) { continue }
        guard let item = self.item(at: path), item.target == (try? next.target.appending(name.span)) else {
          return false
        }
        pending.append(item)
      }
    }
    return true
  }
}

extension ArrivedItem {
  /// Whether an entry is unchanged since an import put it there or set its metadata.
  ///
  /// - Parameters:
  ///   - mayHaveChanged: whether this import has changed the entry itself: another name of it was
  ///     replaced.
  ///   - digest: the sum of the content, for a file system where entries prove nothing.
  func isUntouched(
    _ there: ExistingEntry, tellsEntriesApart: Bool, mayHaveChanged: Bool = false, digest: () -> [UInt8]?
  ) -> Bool {
    guard let entry, kind.fileKind == there.kind, let changed = there.changed else { return false }
    if kind == .file {
      guard entry.size == there.size, let time = there.modified, ItemTime(time) == entry.modified else { return false }
    }
    guard tellsEntriesApart else { return kind == .file && !sum.isEmpty && digest() == sum }
    return entry.inode == there.inode && (mayHaveChanged || entry.changed == ItemTime(changed))
  }
}

extension ItemKind {
  /// The type of the entries of such items.
  var fileKind: FileKind {
    switch self {
    case .directory: .directory
    case .file, .hardLink, .metadata: .regular
    case .symbolicLink: .symbolicLink
    }
  }
}

// MARK: The record

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
