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

  /// Removes the items that the sender has reported as no longer existing in the source, except those
  /// that it could not look at. Returns the sum of these: FINISH does not count them.
  func removeDropped(in places: any StagingTree, keeping kept: UnreadableSource) throws -> ArchiveSum {
    var besides = ArchiveSum()
    let (dropped, unvouched) = shared.withLock { ($0.dropped.union($0.ledger.unvouched), $0.ledger.unvouched) }
    guard !dropped.isEmpty else { return besides }
    var stale: [ItemRecord] = []
    var untrue: [JournalRecord] = []
    var gone: [ArchivePath] = []
    try journal.forEach(upTo: journal.position) { position, record in
      if case .refused(let path, let generation, _, _) = record {
        let mark = keys.mark(path: path, generation: generation)
        guard dropped.contains(mark) else { return }
        shared.withLock { $0.ledger.dropRefused(mark) }
        gone.append(path)
        untrue.append(.void(at: position))
      }
      guard let item = record.completedItem else { return }
      shared.withLock { shared in
        let mark = shared.ledger.mark(item)
        guard dropped.contains(mark), shared.ledger.holds(item) else { return }
        if !unvouched.contains(mark), kept.covers(item.path) {
          // A record may be in the journal twice.
          guard shared.dropped.remove(mark) != nil else { return }
          besides.total = besides.total.adding(Tally(items: 1, bytes: item.size))
          besides.digest &+= mark
          return
        }
        shared.ledger.drop(item)
        stale.append(item.bare)
      }
    }
    try Failure.wrapping(
      .storage, "the journal cannot be written", journal.append(stale.map { .discarded($0.path) } + untrue))
    for item in stale {
      switch item.body {
      // A directory is removed when it is empty; a hard link has not been created yet.
      case .directory, .hardLink, .metadata: break
      case .file, .symbolicLink: try remove(item.path, in: places)
      }
    }
    try removeEmptied(stale.map(\.path) + gone, in: places)
    return besides
  }

  /// Removes the item at a path, of any type.
  func remove(_ path: ArchivePath, in places: any StagingTree) throws(Failure) {
    try SystemError.mapped(places.remove(path)) { Failure("removing", path, $0) }
  }

  /// Removes the empty directories at and above these paths that the archive does not contain.
  func removeEmptied(_ gone: [ArchivePath], in places: any StagingTree) throws(Failure) {
    var candidates = Set(gone)
    for path in gone {
      var parent = path.parent
      while let directory = parent, candidates.insert(directory).inserted { parent = directory.parent }
    }
    let nameless = shared.withLock { shared in candidates.filter { !shared.ledger.hasDirectory($0) } }
    let byDepth = nameless.sorted { ($0.depth, $0) > ($1.depth, $1) }
    let storability = Storability(staging: self, places: places)
    for directory in byDepth {
      do {
        // The path leads to another item's directory under another name.
        if abilities.foldsNames, try storability.foldedPlace(directory) != nil { continue }
        _ = try places.removeIfEmpty(directory)
      } catch {
        throw Failure("removing", directory, error)
      }
    }
  }
}

/// The items that a source could not read in its newest session. Their earlier data is not stale: a
/// disk that fails has perhaps the only other copy.
package struct UnreadableSource: Sendable {
  private var places: [ArchivePath] = []
  private var isAll = false

  package init() {}

  /// - Parameter isAll: whether it is not known which paths these are.
  package init(_ paths: [[UInt8]], isAll: Bool) {
    places = paths.compactMap { try? ArchivePath($0) }
    self.isAll = isAll
  }

  func covers(_ path: ArchivePath) -> Bool { isAll || places.contains { path.isWithin($0) } }
}
