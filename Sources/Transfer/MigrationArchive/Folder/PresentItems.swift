import MigrationSystem
package import MigrationWire

/// The existing items in the roots of an offer, as the receiver reports them to a sender (Protocol
/// §6.4). Some items need not be sent again; others must not be sent because the existing ones are
/// kept.
package struct PresentItems: Equatable, Sendable {
  /// Marks of kind 2, ascending.
  package private(set) var present: [Mark] = []
  /// Marks of kind 3, ascending.
  package private(set) var taken: [Mark] = []
  /// Marks of kind 4, ascending.
  package private(set) var removed: [Mark] = []
  /// Marks of kinds 5, 6 and 7, ascending, of files in the state in which they arrived. Kind 6 also
  /// has directories.
  package private(set) var arrived: [Mark] = []
  package private(set) var states: [Mark] = []
  package private(set) var contents: [Mark] = []
  /// Marks of kind 8, ascending: of files that may be bases of newer versions.
  package private(set) var bases: [Mark] = []

  /// The total of the existing items: an offer of the same items need not send these bytes.
  package private(set) var tally = Tally()

  package init() {}

  /// The path of a root in the archive, and at the destination.
  typealias RootPath = (path: ArchivePath, place: ArchivePath)

  /// Examines every existing name, without following links or entering other file systems. It opens
  /// no file. It reports at most as many names as a sender keeps; if the sender sends items of the
  /// other names, the import handles them. Times are rounded to multiples of this many nanoseconds,
  /// as the sender rounds its own.
  ///
  /// Unless nothing is replaced, items that differ arrive too, so no name counts as taken. A unit
  /// arrives whole, so no item of it is reported. Files and links that have arrived are left to `add`.
  init(
    of roots: [RootPath], in destination: SharedDirectory, keys: TransferKeys, timeGranularity: UInt32 = 1,
    replacingNothing isKept: Bool = true, besides hasArrived: (ArchivePath) -> Bool = { _ in false }
  ) throws(SystemError) {
    func isLeft(_ path: ArchivePath) -> Bool { !isKept && hasArrived(path) }
    try Self.walk(roots, destination, splitting: isKept, leaving: isLeft) { path, status, target in
      let isKnown = status.kind != .directory && hasArrived(path)
      if !isKnown { count(status) }
      guard max(present.count, taken.count) < Limits.presentMarks else { return }
      if isKept { taken.append(keys.takenMark(path: path)) }
      if isKnown { return }
      switch status.kind {
      case .regular:
        let modified = ItemTime(status.modified).rounded(to: timeGranularity)
        present.append(keys.presentMark(path: path, size: UInt64(status.size), modified: modified))
      case .symbolicLink: if let target { present.append(keys.presentMark(path: path, target: target)) }
      case .directory, .fifo, .socket, .blockDevice, .characterDevice: break
      }
    }
    present.sort()
    taken.sort()
  }

  private mutating func count(_ status: FileStatus) {
    tally = tally.adding(Tally(items: 1, bytes: status.kind == .regular ? UInt64(max(0, status.allocatedBytes)) : 0))
  }

  /// Adds the items that the same source has brought before, wherever they are now. They need not come
  /// again. Of an item that was touched, moved or removed here, only a newer version is wanted, unless
  /// the user wants a removed item again. An unchanged directory need not come again. In a folder under
  /// version control, the directories' times tell that nothing was added or removed; and so they do with
  /// an app's data, which comes whole or not at all. Where existing items are brought up to date, an
  /// item counts only if it lies here as it came.
  mutating func add(
    _ arrived: ArrivedItems, in destination: SharedDirectory, keys: TransferKeys, timeGranularity: UInt32,
    existing: Existing = .merge
  ) throws {
    var folders: Set<ArchivePath> = []
    var places = DestinationLook(destination)
    func earlier(_ item: ArrivedItem, _ since: ItemFate.Since) -> ItemFate.Earlier {
      ItemFate.Earlier(.same, since, isWantedAgain: since.isAway && arrived.removals(of: item.path) == .again)
    }
    var missed: [ArchivePath] = []
    try arrived.visit { item in
      let (there, since) = places.look(at: item)
      if since.isAway { missed.append(item.path) }
      if let there, item.kind != .directory { count(there) }
      if ItemUnit.isRepositoryName(item.path.name), let folder = item.path.parent { folders.insert(folder) }
      guard existing != .update || there.map(item.isAsPlaced) == true else { return }
      let earlier = earlier(item, since)
      if let mark = item.presentMark(keys, timeGranularity: timeGranularity, isAway: earlier.isAway) {
        note(mark, earlier, keys.stateMarks(of: item, timeGranularity: timeGranularity))
      } else if let changed = item.changed, states.count < Limits.presentMarks,
        case .merges = ItemFate(.folder, earlier, existing: .merge).fate
      {
        states.append(keys.stateMark(directory: item.path, modified: item.modified, changed: changed))
      }
    }
    arrived.note(missed: missed)
    if existing == .setAside || !folders.isEmpty {
      try arrived.visit { item in
        guard item.kind == .directory, existing == .setAside || item.path.lineage.contains(where: folders.contains)
        else { return }
        let (there, since) = places.look(at: item)
        guard existing != .update || there != nil else { return }
        let version = item.version(isAway: since.isAway)
        note(keys.presentMark(directory: item.path, modified: version.modified), earlier(item, since))
      }
    }
    present = Self.unique(present)
    removed = Self.unique(removed)
    self.arrived = Self.unique(self.arrived)
    states = Self.unique(states)
    contents = Self.unique(contents)
  }

  /// Adds the files of at least this size that lie untouched where they arrived: a newer version may
  /// come as the difference.
  mutating func addBases(
    _ arrived: ArrivedItems, ofAtLeast size: UInt64, in destination: SharedDirectory, keys: TransferKeys
  ) throws {
    guard arrived.largest >= size else { return }
    var places = DestinationLook(destination)
    try arrived.visit { item in
      guard item.size >= size, bases.count < Limits.presentMarks, item.mayBeBase,
        let there = places.look(at: item).there, there.mode & 0o400 != 0,
        item.isUntouched(ExistingEntry(there), tellsEntriesApart: true, digest: { nil })
      else { return }
      bases.append(keys.baseMark(path: item.path, size: item.size, sum: item.sum))
    }
    bases = Self.unique(bases)
  }

  private mutating func note(
    _ mark: Mark, _ earlier: ItemFate.Earlier, _ state: (state: Mark, content: Mark)? = nil
  ) {
    guard max(present.count, removed.count, states.count) < Limits.presentMarks else { return }
    switch ItemFate(.leaf, earlier, existing: .merge).fate {
    case .known:
      guard let state else { return present.append(mark) }
      arrived.append(mark)
      states.append(state.state)
      contents.append(state.content)
    case .removedHere: removed.append(mark)
    default: break
    }
  }

  private static func unique(_ marks: [Mark]) -> [Mark] {
    var last: Mark?
    return marks.sorted().filter { mark in
      defer { last = mark }
      return mark != last
    }
  }

  /// Checks whether items lie where they arrived. Usually an item lies in the directory of the previous item.
  fileprivate struct DestinationLook {
    private let destination: SharedDirectory
    private var current: (path: ArchivePath?, directory: Result<SharedDirectory, SystemError>)?

    init(_ destination: SharedDirectory) { self.destination = destination }

    /// The entry of an item's kind at its place, and what was done with the item; whether it was touched
    /// does not matter here.
    mutating func look(at item: ArrivedItem) -> (there: FileStatus?, since: ItemFate.Since) {
      do throws(SystemError) {
        let there = try status(item)
        return there.kind == item.kind.fileKind ? (there, .touched) : (nil, .displaced)
      } catch {
        // Doubt means that it is there, and only a newer version is sent.
        return (nil, error.isNotFound || error.isNotDirectory || error.isSymbolicLink ? .removed : .touched)
      }
    }

    private mutating func status(_ item: ArrivedItem) throws(SystemError) -> FileStatus {
      if let current, current.path.map({ $0.isParent(of: item.target) }) ?? (item.target.parent == nil) {
        return try current.directory.get().directory.status(item.target.name)
      }
      let directory: Result<SharedDirectory, SystemError>
      do throws(SystemError) {
        directory = .success(try DirectoryDisk.directory(of: item.target, in: destination))
      } catch {
        directory = .failure(error)
      }
      current = (item.target.parent, directory)
      return try directory.get().directory.status(item.target.name)
    }
  }

  private typealias Visit = (ArchivePath, FileStatus, _ target: [UInt8]?) -> Void

  /// Walks the destination, with one open directory at a time. Units are split, or not visited. Names of
  /// files and links that are left are not looked at.
  private static func walk(
    _ roots: [RootPath], _ destination: SharedDirectory, splitting isSplit: Bool,
    leaving isLeft: (ArchivePath) -> Bool, _ visit: Visit
  ) throws(SystemError) {
    let mount = try destination.directory.mount()
    var pending: [RootPath] = []
    for root in roots {
      do throws(SystemError) {
        let parent = try DirectoryDisk.directory(of: root.place, in: destination)
        if !isSplit, try belongs(Array(root.place.name), in: parent.directory) { continue }
        try look(at: root, in: parent.directory, mount, &pending, visit)
      } catch {
        guard error.isOutOfReach else { throw error }
      }
    }
    while let (path, place) = pending.popLast() {
      do throws(SystemError) {
        let directory = try destination.directory.openDirectoryBeneath(place.bytes)
        var kinds: [FileKind?] = []
        let names = try directory.names { kinds.append($0) }
        if !isSplit, names.contains(where: { ItemUnit.isRepositoryName($0[...]) }) { continue }
        let members = isSplit ? [] : ItemUnit.members(of: names)
        for (name, kind) in zip(names, kinds) where !members.contains(name) {
          guard let child = try? path.appending(name.span), kind == nil || kind == .directory || !isLeft(child),
            let childPlace = try? place.appending(name.span)
          else { continue }
          try look(at: (child, childPlace), in: directory, mount, &pending, visit)
        }
      } catch {
        // A directory that cannot be listed, or has been removed, is not reported: the import meets
        // its entries when it needs their names.
        guard error.isOutOfReach else { throw error }
      }
    }
  }

  private static func belongs(_ name: [UInt8], in directory: borrowing Directory) throws(SystemError) -> Bool {
    let others =
      ItemUnit.sidecars(of: name[...]) + [ItemUnit.base(of: name[...]).map { Array($0) }].compactMap(\.self)
    for other in others where other.count <= Limits.component {
      if try !directory.isFree(other) { return true }
    }
    return false
  }

  private static func look(
    at item: RootPath, in directory: borrowing Directory, _ mount: MountIdentity, _ pending: inout [RootPath],
    _ visit: Visit
  ) throws(SystemError) {
    let (status, own): (FileStatus, MountIdentity)
    do {
      (status, own) = try directory.mountedStatus(item.place.name)
    } catch  where error.isNotFound {
      return
    }
    let target = status.kind == .symbolicLink ? try? directory.readLink(item.place.name) : nil
    visit(item.path, status, target)
    if status.kind == .directory, own == mount { pending.append(item) }
  }
}

extension ArrivedItems {
  /// The removals in each root about which the user has not decided yet.
  package func unsettled(in area: StagingArea, at roots: RootDestinations?) throws -> [RemovedArrivals] {
    follow(to: roots, in: area.destination.directory)
    var places = PresentItems.DestinationLook(area.destination.directory)
    var counts: [[UInt8]: UInt64] = [:]
    try visit { item in
      let facts = ItemFate(
        item.kind == .directory ? .folder : .leaf, ItemFate.Earlier(.same, places.look(at: item).since),
        existing: .merge)
      if !item.isRemovalMeant, facts.fate == .removedHere { counts[Array(item.path.root), default: 0] += 1 }
    }
    return counts.map { root, items in
      RemovedArrivals(root: root, place: roots.flatMap { $0[root]?.bytes } ?? root, items: items)
    }.sorted { $0.place.lexicographicallyPrecedes($1.place) }
  }
}

extension ArrivedItem {
  /// Whether the entry at its place has the size and time that were put there, on any file system.
  fileprivate func isAsPlaced(_ there: FileStatus) -> Bool {
    if kind == .directory { return true }
    let (size, modified) = entry.map { ($0.size, $0.modified) } ?? (size, modified)
    return UInt64(there.size) == size && ItemTime(there.modified) == modified
  }
}

extension TransferKeys {
  /// The marks by which a sender finds out whether a file that has arrived changed without another size
  /// or time; nil if that is not known of it.
  fileprivate func stateMarks(of item: ArrivedItem, timeGranularity: UInt32) -> (state: Mark, content: Mark)? {
    guard item.kind == .file, let changed = item.changed, !item.sum.isEmpty else { return nil }
    let modified = item.modified.rounded(to: timeGranularity)
    return (
      stateMark(path: item.path, size: item.size, modified: modified, changed: changed),
      contentMark(path: item.path, size: item.size, sum: item.sum)
    )
  }
}

extension SystemError {
  /// A directory has been removed or replaced, or must not be listed.
  fileprivate var isOutOfReach: Bool { isNotFound || isNotDirectory || isSymbolicLink || isPermissionDenied }
}
