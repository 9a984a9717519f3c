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
  /// The greatest unit, in nanoseconds, of which every existing time is a multiple; 0 if there are
  /// no times.
  private var timeUnit: UInt128 = 0

  package init() {}

  /// Known items: marks, ascending.
  package init(present: [Mark], taken: [Mark]) {
    self.present = present
    self.taken = taken
  }

  /// The path of a root in the archive, and at the destination.
  typealias RootPath = (path: ArchivePath, place: ArchivePath)

  /// Examines every existing name, without following links or entering other file systems. It opens
  /// no file. It reports at most as many names as a sender keeps; if the sender sends items of the
  /// other names, the import handles them. Times are rounded to multiples of this many nanoseconds,
  /// as the sender rounds its own.
  ///
  /// Unless nothing is replaced, items that differ arrive too, so no name counts as taken. A unit
  /// arrives whole, so no item of it is reported.
  init(
    of roots: [RootPath], in destination: SharedDirectory, keys: TransferKeys, timeGranularity: UInt32 = 1,
    replacingNothing isKept: Bool = true, besides hasArrived: (ArchivePath) -> Bool = { _ in false }
  ) throws(SystemError) {
    try Self.walk(roots, destination, splitting: isKept) { path, status, target in
      tally = tally.adding(
        Tally(items: 1, bytes: status.kind == .regular ? UInt64(max(0, status.allocatedBytes)) : 0))
      guard max(present.count, taken.count) < Limits.presentMarks else { return }
      if isKept { taken.append(keys.takenMark(path: path)) }
      // Its own record says more.
      if hasArrived(path) { return }
      switch status.kind {
      case .regular:
        let modified = ItemTime(status.modified).rounded(to: timeGranularity)
        note(modified)
        present.append(keys.presentMark(path: path, size: UInt64(status.size), modified: modified))
      case .symbolicLink: if let target { present.append(keys.presentMark(path: path, target: target)) }
      case .directory, .fifo, .socket, .blockDevice, .characterDevice: break
      }
    }
    present.sort()
    taken.sort()
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
    func earlier(_ item: ArrivedItem) -> ItemFate.Earlier {
      ItemFate.Earlier(.same, places.since(item), isWantedAgain: arrived.removals(of: item.path) == .again)
    }
    try arrived.visit { item in
      if ItemUnit.isRepositoryName(item.path.name), let folder = item.path.parent { folders.insert(folder) }
      guard existing != .update || places.isAsPlaced(item) else { return }
      let earlier = earlier(item)
      guard let mark = item.presentMark(keys, timeGranularity: timeGranularity, isAway: earlier.isAway) else { return }
      note(mark, earlier, keys.stateMarks(of: item, timeGranularity: timeGranularity))
    }
    try arrived.visit { item in
      guard item.kind == .directory, existing != .update || places.isAsPlaced(item) else { return }
      let earlier = earlier(item)
      if existing == .setAside || item.path.lineage.contains(where: folders.contains) {
        let version = item.version(isAway: earlier.isAway)
        note(keys.presentMark(directory: item.path, modified: version.modified), earlier)
      }
      guard let changed = item.changed, states.count < Limits.presentMarks else { return }
      if case .merges = ItemFate(.folder, earlier, existing: .merge).fate {
        states.append(keys.stateMark(directory: item.path, modified: item.modified, changed: changed))
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
    var places = DestinationLook(destination)
    try arrived.visit { item in
      guard item.size >= size, bases.count < Limits.presentMarks, places.isBase(item) else {
        return
      }
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

    /// Whether anything else was done with an item does not matter here.
    mutating func since(_ item: ArrivedItem) -> ItemFate.Since {
      do throws(SystemError) {
        return try status(item).kind == item.kind.fileKind ? .touched : .displaced
      } catch {
        // Doubt means that it is there, and only a newer version is sent.
        return error.isNotFound || error.isNotDirectory || error.isSymbolicLink ? .removed : .touched
      }
    }

    /// Whether an item lies where it was put, in its size and time, on any file system.
    mutating func isAsPlaced(_ item: ArrivedItem) -> Bool {
      guard let there = try? status(item), there.kind == item.kind.fileKind else { return false }
      if item.kind == .directory { return true }
      let (size, modified) = item.entry.map { ($0.size, $0.modified) } ?? (item.size, item.modified)
      return UInt64(there.size) == size && ItemTime(there.modified) == modified
    }

    /// Whether an item lies untouched where it was put, and can be read.
    mutating func isBase(_ item: ArrivedItem) -> Bool {
      guard item.mayBeBase, let there = try? status(item), there.mode & 0o400 != 0 else { return false }
      return item.isUntouched(ExistingEntry(there), tellsEntriesApart: true) { nil }
    }

    private mutating func status(_ item: ArrivedItem) throws(SystemError) -> FileStatus {
      let parent = item.target.parent
      if let current, current.path == parent {
        return try current.directory.get().directory.status(item.target.name)
      }
      let directory: Result<SharedDirectory, SystemError>
      do throws(SystemError) {
        directory = .success(try DirectoryDisk.directory(of: item.target, in: destination))
      } catch {
        directory = .failure(error)
      }
      current = (parent, directory)
      return try directory.get().directory.status(item.target.name)
    }
  }

  private mutating func note(_ time: ItemTime) {
    guard timeUnit != 1 else { return }
    var rest = (Int128(time.seconds) * 1_000_000_000 + Int128(time.nanoseconds)).magnitude
    while rest != 0 { (timeUnit, rest) = (rest, timeUnit % rest) }
  }

  /// Whether its times are multiples of so many nanoseconds, so that rounding them would change
  /// nothing.
  func isExact(timeGranularity: UInt32) -> Bool {
    timeGranularity <= 1 || timeUnit % UInt128(timeGranularity) == 0
  }

  private typealias Visit = (ArchivePath, FileStatus, _ target: [UInt8]?) -> Void

  /// Walks the destination, with one open directory at a time. Units are split, or not visited.
  private static func walk(
    _ roots: [RootPath], _ destination: SharedDirectory, splitting isSplit: Bool, _ visit: Visit
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
        let names = try directory.names()
        if !isSplit, names.contains(where: { ItemUnit.isRepositoryName($0[...]) }) { continue }
        let members = isSplit ? [] : ItemUnit.members(of: names)
        for name in names where !members.contains(name) {
          guard let child = try? path.appending(name.span), let childPlace = try? place.appending(name.span) else {
            continue
          }
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
        item.kind == .directory ? .folder : .leaf, ItemFate.Earlier(.same, places.since(item)), existing: .merge)
      if !item.isRemovalMeant, facts.fate == .removedHere { counts[Array(item.path.root), default: 0] += 1 }
    }
    return counts.map { root, items in
      RemovedArrivals(root: root, place: roots.flatMap { $0[root]?.bytes } ?? root, items: items)
    }.sorted { $0.place.lexicographicallyPrecedes($1.place) }
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
