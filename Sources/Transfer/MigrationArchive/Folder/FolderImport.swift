import MigrationSystem
package import MigrationWire

/// Moves verified items from staging to the destination: each file, link and new folder by one
/// rename, or by the steps of `Placing`. The settings of the staging decide about existing entries:
/// nothing is replaced unless the user asks for it, and then a file is replaced by a whole file, in
/// one step.
///
/// It may be killed at any moment and run again: an item that is no longer staged has been moved,
/// and the journal records which moved items are still to be finished.
package struct FolderImport {
  let staging: Staging
  let destination: any ImportDestination
  let existing: Existing
  let staged: any StagingTree
  /// Where roots that are keys arrive; nil if roots are names.
  let places: RootDestinations?
  /// The most items to process: the roots, or all items if some directories are merged.
  private var total: UInt64 = 0
  private var done: UInt64 = 0
  /// A staged directory that also exists at the destination, and the existing entry.
  typealias Merging = (item: Item, there: ExistingEntry)
  /// The directories that existed already. They get the metadata of the received directories when
  /// their contents are complete.
  private var merged: [Merging] = []
  /// The directories that exist in staging and at the destination, and have not been processed yet.
  private var pending: [Merging] = []
  /// The roots that are in place: their names and entries.
  var placedRoots: [(target: ArchivePath, entry: ExistingEntry)] = []
  /// The roots of a part that sets old entries aside, as far as they are moved.
  var changed: [Changed] = []
  /// Whether the file system can rename without replacing, as far as known.
  var renamesSafely = true
  /// The items that are about to be moved, and those of them that are in the journal.
  var upcoming: [(path: ArchivePath, target: ArchivePath)] = []
  var told: [ArchivePath: ArchivePath] = [:]
  /// The units of the current directory.
  var units = StagedUnits()
  /// The directory in which a name was taken last, and the names given to items of the archive next
  /// to taken ones.
  var listed: ListedNames?
  var besides: Set<ArchivePath> = []
  var archivePaths: ArchivePaths?
  /// The items that cannot be moved to the destination.
  var notStored: [ArchivePath: (reason: NotStored.Reason, error: UInt16?)] = [:]
  /// The newer versions of items that were moved or removed here.
  var keptAway: Set<ArchivePath> = []
  /// The items that the user of this device takes; nil for all.
  let permit: ArrivalPermit?
  /// The items that the same device has brought before, and brings now; nil if they are not recorded.
  let arrived: ArrivedItems?
  /// The records of the items that came now, if an earlier version may have arrived.
  var records: EarlierItems?
  /// The files whose arrived metadata this import has set.
  var following: Set<ArchivePath> = []
  /// The staged items that are not moved, since the existing items are kept instead.
  var left: Set<ArchivePath> = []
  /// The inodes of files that lost a name here, or whose metadata this import has set.
  var replaced: Set<UInt64> = []
  /// The items that were put in place and are not in the journal yet.
  var placed: [JournalRecord] = []
  /// The files of which a run before may have set the metadata, or another program.
  var doubtful: Set<ArchivePath> = []

  package init(_ staging: Staging, to destination: any ImportDestination, at places: RootDestinations? = nil) {
    self.staging = staging
    self.destination = destination
    self.places = places
    existing = staging.existing
    staged = staging.disk.places()
    arrived = staging.arrivals
    permit = staging.permit
  }

  /// Moves every item, makes the result durable, and checks that the roots are where they were put.
  /// `Staging.finishImport` records the success.
  package mutating func run(progress: (ImportProgress) -> Void) throws(Failure) {
    guard case .concluded(let tally) = staging.stage else { return }
    try noteBeginning()
    try noteEarlierChanges()
    try noteEarlierFollowing()
    if arrived?.isEmpty == false {
      records = try reading { try EarlierItems(staging.journal, upTo: staging.journal.position) }
    }
    do throws(Failure) {
      try move(tally, progress)
    } catch {
      throw error.adding(bringBack(afterFailure: true))
    }
    if let left = bringBack(afterFailure: false) { throw Failure(.importFailed, left) }
    for merging in merged.sorted(by: { Staging.deeperFirst($0.item.path, $1.item.path) }) {
      try setMetadata(of: merging)
    }
    try followMetadata()
    recordPlaced()
    try notePlaces()
    try Failure.wrapping(.importFailed, "the imported items cannot be made durable", destination.synchronize())
    try checkPlacedRoots()
    try staging.refuseStaged(notStored)
  }

  private mutating func move(_ tally: Tally, _ progress: (ImportProgress) -> Void) throws(Failure) {
    try settleEarlierPlacing()
    try settleEarlierExchanges()
    try finishEarlierMoves()
    let roots = try entries(of: nil)
    try checkPresence(of: roots)
    try findUnits(among: roots, in: nil)
    // All roots are checked before the first is moved, so that a name that was taken meanwhile does
    // not leave the import half done.
    let fates = try fates(of: roots[...])
    // A root that replaces a file is looked up by the next run, too.
    let replacing = zip(roots, fates).compactMap { root, fate in fate.replaced.map { (path: root.path, target: $0) } }
    try announce(upcoming + replacing)
    total = fates.contains(where: \.isMerging) ? max(tally.items, UInt64(roots.count)) : UInt64(roots.count)
    for (root, fate) in zip(roots, fates) {
      try perform(fate, on: root)
      try mergeDirectories(progress)
      done += 1
      tell(progress)
    }
  }

  /// Fails if a root of the archive is neither staged nor moved.
  private func checkPresence(of roots: [Item]) throws(Failure) {
    guard let offered = staging.roots else { return }
    let moved = staging.shared.withLock { $0.moving.keys.filter { $0.parent == nil }.map { Array($0.name) } }
    let missing = offered.subtracting(roots.map { Array($0.path.name) } + moved)
    // A root may have been refused, or was never sent.
    for name in missing.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      guard let path = try? ArchivePath(name) else { continue }
      let isHeld = try reading { try ArchivePaths(of: staging).contains(path) }
      guard isHeld, notStored[path] == nil, !staging.shared.withLock({ $0.ledger.refuses(path: path) }) else {
        continue
      }
      throw Failure(
        .importFailed,
        "\(VisibleText.quoted(path)) had arrived, and another program has removed it from "
          + VisibleText.quoted(staging.disk.name), name: name)
    }
  }

  /// Fails if a root is not, or no longer, where it was put.
  private func checkPlacedRoots() throws(Failure) {
    for (target, entry) in placedRoots {
      let there = try importing(target) { () throws(SystemError) in try destination.occupant(at: target) }
      let isSame = there.map { $0.kind == entry.kind && ($0.hasInode(of: entry) || !tellsEntriesApart) } ?? false
      guard isSame else { throw displaced(target) }
    }
  }

  func displaced(_ root: ArchivePath) -> Failure {
    Failure(
      .importFailed,
      "\(VisibleText.quoted(root)) was put into the destination, and another program has moved, replaced or removed it",
      hint: "Find out who else can write there. \(DataHint.forget.text)", name: root.bytes)
  }

  var tellsEntriesApart: Bool { staging.abilities.tellsEntriesApart }

  /// Descends into the directories that exist on both sides, one at a time.
  private mutating func mergeDirectories(_ progress: (ImportProgress) -> Void) throws(Failure) {
    while let (directory, there) = pending.popLast() {
      try checkFileSystem(of: directory, there)
      var items = try entries(of: directory)[...]
      // A run before may have given an empty one permissions that keep this process out.
      guard !items.isEmpty else { continue }
      try importing(directory.path) { () throws(SystemError) in try destination.enter(directory.target, seen: there) }
      try unlock(directory.path)
      try findUnits(among: Array(items), in: directory.target)
      while !items.isEmpty {
        let next = items.prefix(Self.together)
        items = items.dropFirst(Self.together)
        let fates = try fates(of: next)
        // Together, so that they share one wait for the disk.
        try announce(upcoming.filter { $0.target != home(of: $0.path) } + exchanges(next, fates))
        for (item, fate) in zip(next, fates) {
          try perform(fate, on: item)
          done += 1
          if done % 256 == 0 { tell(progress) }
        }
      }
    }
  }

  /// How many items are recorded in the journal together, on file systems where the record must
  /// come before the names.
  static let together = 256

  /// Decides how to import several items before the first of them is changed.
  private mutating func fates(of items: ArraySlice<Item>) throws(Failure) -> [Fate] {
    var fates: [Fate] = []
    (upcoming, told) = ([], [:])
    for item in items {
      let fate = try fate(of: item)
      if let target = fate.target { upcoming.append((item.path, target)) }
      fates.append(fate)
    }
    return fates
  }

  private func tell(_ progress: (ImportProgress) -> Void) {
    progress(ImportProgress(phase: .importing, done: done, total: max(total, done)))
  }

  // MARK: Performing

  private mutating func perform(_ fate: Fate, on item: Item) throws(Failure) {
    switch fate {
    case .arrives(let target):
      if existing == .setAside { changed.append(Changed(item: item, aside: nil)) }
      try place(item, at: target)
    case .setsAside(let target):
      // A run after this one finds neither of them at the destination.
      try announce([(item.path, target)])
      let item = item.renamed(target)
      let aside = try setAside(item)
      if existing != .setAside, let aside { arrived?.noteAside(aside) }
      changed.append(Changed(item: item, aside: aside))
      try place(item, at: target)
    case .replaces(let target): try replace(target, with: item)
    case .merges(let target, let there, let follows):
      try announceDetour(item, target)
      let item = item.renamed(target)
      pending.append((item, there))
      notePlaced(item, at: target, there)
      if existing.replacesFiles || follows { merged.append((item, there)) }
    case .stays: stays(item)
    case .isKnown, .isRemoved: left.insert(item.path)
    case .staysAway:
      notStored[item.path] = (.removedThere, nil)
      keptAway.insert(item.path)
    case .isPresent(let target, let there):
      left.insert(item.path)
      if target != item.target { staging.noteRenamed(item.path, target) }
      if let there { notePlaced(item, at: target, there) }
    case .isThere:
      // A link was made and the other name not removed, on a file system that cannot rename without
      // replacing.
      notePlaced(item, at: item.target, try stagedOccupant(item.path))
      try importing(item.path) { () throws(SystemError) in try staged.remove(item.path) }
    case .cannotBeStored(let reason, let cause): try cannotStore(item, reason, cause)
    }
  }

  private mutating func replace(_ target: ArchivePath, with item: Item) throws(Failure) {
    try announceDetour(item, target)
    let entry = try stagedOccupant(item.path)
    let earlier = arrived == nil ? nil : (try? destination.occupant(at: target)) ?? nil
    if existing == .update { try renameSidecars(of: item, at: target) }
    let isReplaced: Bool
    do throws(SystemError) {
      if existing == .merge {
        isReplaced = try replaceEarlier(target, with: item)
      } else {
        try destination.replace(target, with: item.path)
        isReplaced = true
      }
    } catch {
      return try refuse(item, error)
    }
    guard isReplaced else { return try perform(try fate(of: item), on: item) }
    // Not before: until then its time of change tells of others.
    if let earlier { replaced.insert(earlier.inode) }
    notePlaced(at: target)
    if target != item.target { staging.noteRenamed(item.path, target) }
    staging.deliveries?.note(target, from: item.path)
    notePlaced(item, at: target, entry)
  }

  /// Records in the journal that an item goes to another path than its own.
  private func announceDetour(_ item: Item, _ target: ArchivePath) throws(Failure) {
    if target != home(of: item.path) { try announce([(item.path, target)]) }
  }

  private mutating func refuse(_ item: Item, _ error: SystemError) throws(Failure) {
    guard let reason = error.placingRefusal else { throw failed(item.path, error) }
    try cannotStore(item, reason, error)
  }

  private mutating func notePlaced(_ item: Item, at target: ArchivePath, _ entry: ExistingEntry) {
    if item.path.parent == nil { placedRoots.append((target, entry)) }
  }

  private mutating func place(_ item: Item, at target: ArchivePath) throws(Failure) {
    if item.path.parent == nil {
      try importing(item.path) { () throws(SystemError) in try destination.makeParent(of: target) }
    }
    let mustFinish = try prepare(item, for: target)
    let entry = try stagedOccupant(item.path)
    // The directory is opened before another user can reach it.
    let folder =
      try mustFinish && item.kind == .directory
      ? importing(item.path) { () throws(SystemError) in try destination.open(staged: item.path) } : nil
    switch try carry(item, to: target) {
    case .placed:
      noteArrival(at: target, of: item.path)
      notePlaced(at: target)
    // Another program created the name first, or another item of the archive has it here.
    case .taken:
      units.release(item.path)
      return try perform(try fate(of: item), on: item)
    case .failed(let error): return try refuse(item, error)
    }
    if target != item.target { staging.noteRenamed(item.path, target) }
    staging.deliveries?.note(target, from: item.path)
    notePlaced(item, at: target, entry)
    if let folder { try finish(item.path, folder, entry.owner) }
  }

  /// Records moves in the journal, except those that it has.
  func announce(_ moves: [(path: ArchivePath, target: ArchivePath)]) throws(Failure) {
    let moves = staging.shared.withLock { shared in moves.filter { shared.moving[$0.path]?.target != $0.target } }
    guard !moves.isEmpty else { return }
    var records: [JournalRecord] = []
    for (path, target) in moves {
      let inode = try stagedOccupant(path).inode
      records.append(.moving(path, inode: inode, to: target))
      staging.shared.withLock { $0.moving[path] = Staging.Move(inode: inode, target: target) }
    }
    try journal(records)
  }
}
