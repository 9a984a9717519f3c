import MigrationSystem
import MigrationWire

/// Changes of the source since an earlier session: new items replace old ones.
extension Staging {
  /// The most directories of an earlier session that other items may replace; each costs one pass
  /// over the journal.
  private static let replacedDirectories = 1_024

  /// Removes the items of an earlier session that contradict a new item; false if there are none. With
  /// `keeping`, a complete file of the same path is kept until the new one is complete, too.
  ///
  /// The journal records the removal before it happens on the disk, durably: otherwise a crash
  /// could leave new bytes under an old claim.
  func makeWay(
    for path: ArchivePath, keeping: Bool, in places: any StagingTree, _ shared: inout Shared
  ) throws -> Bool {
    do {
      // An item that is found by another name does not belong to this path, and is kept.
      if abilities.foldsNames,
        try Storability(staging: self, places: places).foldedPlace(path) != nil
      {
        return false
      }
      for place in path.lineage {
        guard let kind = try places.kind(of: place) else { return false }
        if kind == .directory {
          if place == path { return try discardTree(path, in: places, &shared) }
          continue
        }
        return try discard(place, for: path, keeping: keeping, in: places, &shared)
      }
    } catch let error as SystemError {
      throw Failure("replacing", path, error)
    }
    return false
  }

  /// Fails if an item that this session has brought excludes this one: another state of it, an item
  /// above it that is no directory, or an item below it. Another name that the disk takes for this
  /// one does not count here.
  func checkContradiction(
    of path: ArchivePath, _ error: SystemError, in places: any StagingTree, _ shared: Shared
  ) throws {
    guard error.isInTheWay else { return }
    do {
      guard try Storability(staging: self, places: places).foldedPlace(path) == nil else { return }
    } catch {
      // Whether the disk folds the name is unknown, so this is no proof of a contradiction.
      return
    }
    let isContradicted = { (there: ArchivePath) in
      (there != path && there.isWithin(path)) || (path.isWithin(there) && !shared.ledger.hasDirectory(there))
    }
    var isBroken = shared.ledger.incompleteFiles.contains {
      $0.path != path && isContradicted($0.path) && !shared.earlierPartials.contains($0.path)
    }
    try journal.forEach(upTo: journal.position) { position, record in
      guard position >= shared.sessionStart, let item = record.completedItem, shared.ledger.holds(item) else { return }
      if isContradicted(item.path) { isBroken = true }
    }
    if isBroken { throw Violation(.conflict, "a second state of an item", VisibleText.quoted(path)) }
  }

  /// Removes a file or link at `path`, which `item` needs. The only incomplete data of the item
  /// itself is the data just announced: parts of an older generation have been removed by then.
  private func discard(
    _ path: ArchivePath, for item: ArchivePath, keeping: Bool, in places: any StagingTree, _ shared: inout Shared
  ) throws -> Bool {
    var kept: ItemRecord?
    if shared.abandoned.contains(path) {
      try places.remove(path)
      shared.abandoned.remove(path)
      return true
    }
    if path != item, shared.earlierPartials.remove(path) != nil, let number = shared.ledger.discard(path) {
      shared.open[number] = nil
    } else {
      if shared.earlier == nil { shared.earlier = try EarlierItems(journal, upTo: shared.sessionStart) }
      guard let record = try shared.earlier?.record(of: path, in: journal), shared.ledger.holds(record) else {
        return false
      }
      shared.ledger.drop(record)
      if keeping, path == item, case .file = record.body { kept = record }
    }
    let name = kept == nil ? nil : keepingName(shared.keptCount)
    guard let kept, let name else {
      try journal.appendDurably([.discarded(path)])
      try places.remove(path)
      return true
    }
    shared.keptCount += 1
    try journal.appendDurably([.kept(kept, as: name), .discarded(path)])
    do throws(SystemError) {
      try places.replace(name, with: path)
      shared.replaced[path] = (kept, name)
    } catch {
      // A file that cannot have another name is removed at once.
      try places.remove(path)
    }
    return true
  }

  /// A name that no root has: they are reserved. An app's data may have any.
  private func keepingName(_ number: Int) -> ArchivePath? {
    guard roots != nil else { return nil }
    return try? ArchivePath(Self.name(of: transfer, number: number + 2))
  }

  /// Removes the earlier state of a file when its newer, complete state is durable.
  func supersede(_ path: ArchivePath) {
    shared.withLock { shared in
      if let earlier = shared.replaced[path] { shared.superseded.append(earlier.name) }
    }
  }

  /// Gives earlier states of files their names back if the source could not read the newer states to the
  /// end, and removes the others. Returns the sum of the restored files: FINISH does not count them.
  func restoreReplaced(in places: any StagingTree, keeping kept: UnreadableSource) throws -> ArchiveSum {
    var besides = ArchiveSum()
    let replaced = shared.withLock { $0.replaced }
    // Newer states are durable before any earlier one goes.
    if !replaced.isEmpty { try synchronize() }
    for (path, earlier) in replaced.sorted(by: { $0.key < $1.key }) {
      guard kept.covers(path), try places.kind(of: path) == nil, try places.kind(of: earlier.name) == .regular else {
        try remove(earlier.name, in: places)
        continue
      }
      try places.replace(path, with: earlier.name)
      try journal.append([.item(earlier.record, nil)])
      try shared.withLock { (shared) throws(Violation) in try shared.ledger.finish(earlier.record) }
      besides.digest &+= keys.mark(path: path, generation: earlier.record.generation)
      besides.total = besides.total.adding(Tally(items: 1, bytes: earlier.record.size))
    }
    shared.withLock { $0.replaced = [:] }
    return besides
  }

  private func discardTree(
    _ directory: ArchivePath, in places: any StagingTree, _ shared: inout Shared
  ) throws -> Bool {
    guard shared.replacedDirectories < Self.replacedDirectories else {
      throw Violation(.limit, "the number of directories that other items replace")
    }
    shared.replacedDirectories += 1
    var items: [ItemRecord] = []
    var isOld = true
    try journal.forEach(upTo: journal.position) { position, record in
      guard let item = record.completedItem, item.path.isWithin(directory), shared.ledger.holds(item) else { return }
      if position >= shared.sessionStart { isOld = false }
      items.append(item.bare)
    }
    // The file that replaces it is expected already.
    let partials = shared.ledger.incompleteFiles.filter { $0.path != directory && $0.path.isWithin(directory) }
    guard isOld, partials.allSatisfy({ shared.earlierPartials.contains($0.path) }) else { return false }
    for partial in partials {
      shared.ledger.discard(partial.path)
      shared.open[partial.number] = nil
    }
    for item in items { shared.ledger.drop(item) }
    try journal.appendDurably([.discardedTree(directory)])
    try places.remove(directory)
    return true
  }
}
