import MigrationSystem
import MigrationWire

/// Finds the items that are gone since an earlier pass: moved or removed here by the user, who
/// alone may let them come again; removed at the source; or set aside by an import.
extension FolderImport {
  /// Whether an item was moved or removed here, and the user wants it again.
  func isWantedAgain(_ item: Item) -> Bool {
    guard arrived?.removals(of: item.path) == .again, let earlier = arrived?.item(at: item.path) else { return false }
    return since(earlier).isAway
  }

  /// Whether anything in a staged directory is wanted again.
  mutating func lacksWanted(_ directory: Item) throws(Failure) -> Bool {
    guard arrived?.removals(of: directory.path) == .again else { return false }
    for item in try entries(of: directory) {
      if isWantedAgain(item) { return true }
      if item.kind == .directory, try lacksWanted(item) { return true }
    }
    return false
  }

  /// Whether a staged directory that is not at the destination any more has anything that was not
  /// moved or removed with it. A newer version of what belongs together is nothing new.
  mutating func holdsWanted(_ directory: Item) throws(Failure) -> Bool {
    for item in try entries(of: directory) {
      guard let earlier = arrived?.item(at: item.path), since(earlier) == .removed else { return true }
      if item.kind == .directory, try !isWhole(item), try holdsWanted(item) { return true }
    }
    return false
  }

  /// Names the newer versions of what was moved or removed with a directory, and takes out of staging
  /// what is not to arrive beside the rest.
  mutating func keepAway(_ directory: Item, removing isRemoved: Bool) throws(Failure) {
    if isRemoved { try unlock(directory.path) }
    var newer: [ArchivePath: (reason: NotStored.Reason, error: UInt16?)] = [:]
    var away: [Item] = []
    for item in try entries(of: directory) {
      guard let earlier = arrived?.item(at: item.path), since(earlier) == .removed else { continue }
      away.append(item)
      if item.kind == .directory, try !isWhole(item) {
        try keepAway(item, removing: isRemoved)
      } else if try !isUnchanged(item, earlier) {
        newer[item.path] = (.removedThere, nil)
      }
    }
    keptAway.formUnion(newer.keys)
    guard isRemoved else { return notStored.merge(newer) { $1 } }
    // In the journal first: after a crash, an item that is no longer staged counts as moved.
    try staging.refuseStaged(newer)
    for item in away {
      let isFolder = item.kind == .directory ? try !isWhole(item) : false
      try importing(item.path) { () throws(SystemError) in
        if isFolder { _ = try staged.removeIfEmpty(item.path) } else { try staged.remove(item.path) }
      }
    }
  }

  // MARK: The record

  private func isMeant(_ earlier: ArrivedItem) -> Bool {
    earlier.isRemovalMeant || arrived?.removals(of: earlier.path) == .meant
  }

  /// Ends the records of earlier versions that an import has set aside: no user has moved them.
  func voidSetAside(_ arrived: ArrivedItems) throws {
    var places: [ArchivePath: ArchivePath] = [:]
    for one in changed where one.aside != nil { places[one.item.path] = one.item.target }
    // A run before this one has set them aside, and the user may have tidied that away.
    let (moves, asides) = staging.shared.withLock { ($0.moving, $0.asides) }
    for (path, aside) in asides {
      guard let target = moves[path]?.target else { continue }
      let there = (try? destination.occupant(at: target)) ?? nil
      if there?.inode != aside.inode { places[path] = target }
    }
    guard !places.isEmpty else { return }
    var ended: [ArrivedItem] = []
    try arrived.visit { item in
      if item.path.lineage.contains(where: { places[$0].map { item.target.isWithin($0) } ?? false }) {
        ended.append(item)
      }
    }
    for item in ended { try arrived.void(item) }
  }

  /// Notes the version of an item that came and was kept away, so that it does not come again. A
  /// new item beside it has not arrived, and does come again.
  func noteKeptAway(_ record: ItemRecord, _ arrived: ArrivedItems) throws {
    guard record.path.lineage.contains(where: keptAway.contains), hasCome(record.path),
      var item = arrived.item(at: record.path)
    else { return }
    switch record.body {
    case .file(let size):
      guard let modified = record.modified else { return }
      item.keptAway = ArrivedItem.Version(kind: .file, size: size, modified: modified, target: [])
    case .symbolicLink(let target):
      item.keptAway = ArrivedItem.Version(
        kind: .symbolicLink, size: 0, modified: record.modified ?? item.modified, target: target)
    case .directory:
      item.keptAway = ArrivedItem.Version(
        kind: .directory, size: 0, modified: record.modified ?? item.modified, target: [])
    case .hardLink(let other):
      try arrived.flush()
      item.keptAway = arrived.item(at: other)?.keptAway
    case .metadata: return
    }
    try arrived.add(item)
  }

  /// Whether the sender has brought an item of this path, and has it still.
  private func hasCome(_ path: ArchivePath) -> Bool {
    guard let record = try? records?.record(of: path, in: staging.journal) else { return false }
    let mark = staging.keys.mark(path: path, generation: record.generation)
    return !staging.shared.withLock { $0.dropped.contains(mark) }
  }

  /// Finds the items that were moved or removed here, and the items that the sender no longer has,
  /// to name them. An item in a directory that has gone is not named by itself.
  func findAway(_ arrived: ArrivedItems) throws {
    let absent = try absentMarks(arrived)
    arrived.forgetOldLooks()
    if existing != .setAside, absent.isEmpty, arrived.wereAllHere { return }
    var changes: [ArrivedItem] = []
    var gone: [ArrivedItem] = []
    var folders: Set<ArchivePath> = []
    // Directories without a new version: the folder above tells whether the sender has them.
    var unmet: [ArrivedItem] = []
    func judge(_ item: ArrivedItem, _ since: ItemFate.Since, isGone: Bool) {
      let earlier = ItemFate.Earlier(isGone && !arrived.mayBeUnread(item.path) ? .gone : .same, since)
      switch ItemFate(item.kind == .directory ? .folder : .leaf, earlier, existing: .merge).fate {
      case .stays: arrived.noteStayed(item.target)
      case .nothing: gone.append(item)
      case .removedHere:
        // An item that was wanted again, and did not come, is gone at the source, or named by itself.
        if arrived.removals(of: item.path) == .again, !hasCome(item.path) || isNamed(item.path) { return }
        arrived.countRemoved(isMeant: isMeant(item))
        if isMeant(item), !item.isRemovalMeant {
          var item = item
          item.isRemovalMeant = true
          changes.append(item)
        }
        if let parent = item.path.parent, let above = arrived.item(at: parent), missing(above).isAway { return }
        arrived.noteAway(item.target)
      default: break
      }
    }
    try arrived.visit { item in
      guard staging.roots?.contains(Array(item.path.root)) != false else { return }
      if ItemUnit.isRepositoryName(item.path.name), let folder = item.path.parent { folders.insert(folder) }
      if existing == .setAside {
        // A root comes with everything that the sender has, or is as it was.
        if let root = try? ArchivePath(Array(item.path.root)), hasCome(root) {
          judge(item, missing(item), isGone: !hasCome(item.path))
        }
        return
      }
      let since = arrived.wasHere(item.path) ? .touched : missing(item)
      if existing == .update, since.isAway, !hasCome(item.path) {
        // What is still there comes again.
        judge(item, since, isGone: true)
      } else if let mark = presentMark(item, isAway: since.isAway) {
        judge(item, since, isGone: absent.contains(mark))
      } else if since.isAway, !hasCome(item.path) {
        unmet.append(item)
      } else {
        judge(item, since, isGone: false)
      }
    }
    for item in unmet {
      let isOfWhole = item.path.lineage.contains(where: folders.contains)
      let mark = staging.keys.presentMark(directory: item.path, modified: item.version(isAway: true).modified)
      judge(item, .removed, isGone: !isOfWhole || absent.contains(mark))
    }
    for item in changes { try arrived.add(item) }
    for item in gone { try arrived.void(item) }
    try arrived.flush()
  }

  /// The marks of which the sender has no item, except the marks of which another version has come.
  private func absentMarks(_ arrived: ArrivedItems) throws -> Set<Mark> {
    var absent = arrived.absent
    guard !absent.isEmpty else { return absent }
    try staging.journal.forEach(upTo: staging.journal.position) { _, claim in
      guard let path = claim.completedItem?.path, let item = arrived.item(at: path),
        let mark = presentMark(item, isAway: item.keptAway != nil && missing(item).isAway)
      else { return }
      absent.remove(mark)
    }
    return absent
  }

  private func presentMark(_ item: ArrivedItem, isAway: Bool) -> Mark? {
    item.presentMark(staging.keys, timeGranularity: staging.abilities.timeGranularity, isAway: isAway)
  }

  /// What has become of an item, but for changes where it lies.
  private func missing(_ item: ArrivedItem) -> ItemFate.Since { since(item, comparing: false) }

  /// Whether an item, or a folder above it, is named as not stored.
  private func isNamed(_ path: ArchivePath) -> Bool {
    path.lineage.contains { notStored[$0] != nil } || staging.shared.withLock { $0.ledger.refuses(path: path) }
  }
}
