package import MigrationSystem
package import MigrationWire

/// The items that the sources of one part have brought before, in a file that only grows. The next
/// migration from the same source compares the records with the items at the destination. Other
/// sources of the same part have their records in the same file, and do not count.
///
/// The newest record of a path counts. The records stay in the file, and memory holds 16 bytes for
/// each. A record that a kill or a power loss has cut short is overwritten: its item counts as
/// changed here.
package final class ArrivedItems: Sendable {
  /// The records are checked for damage, not for forgery: who can write them can change the items.
  private static let key: UInt128 = 0x7065_6572_2061_7272_6976_6564
  private static let together = 256

  private struct State: Sendable {
    /// The positions of the newest records, by the hashes of their paths.
    var positions: [UInt64: UInt64] = [:]
    /// The size of the largest file that any record tells.
    var largest: UInt64 = 0
    /// The records that are not in the file yet.
    var pending: [ArrivedItem] = []
    /// The hashes of the paths of the items that did not lie here when the offer came; nil before that.
    var missed: Set<UInt64>?
    var looked = BootInstant.now()
    /// The items that are no longer at the destination, and did not come again.
    var away = Named()
    /// The items that are here, and that the sender no longer has.
    var stayed = Named()
    /// Folders that were replaced whole, by the names that they have now.
    var aside = Named()
    /// The folders of roots that lie at another place now, with both places, by the names of the roots.
    var moved: [[UInt8]: (from: ArchivePath, to: ArchivePath)] = [:]
    /// The marks of which the sender has no item.
    var absent: Set<Mark> = []
    /// The items that the sender could not read; nil if they are unknown.
    var unread: UnreadableSource?
    var removed = Done.Removed()
    /// Whether the file may have more than the records that were read.
    var hasMore = true
    /// Why not all records of this import could be written.
    var trouble: String?
  }

  /// The user's decision about items that were moved or removed here.
  package enum Removals: Sendable {
    /// No decision yet, or a decision in an earlier run.
    case unsettled
    /// The removals were mistakes: the items come again.
    case again
    /// The removals were intended, and count as intended from now on.
    case meant
  }

  private let journal: JournalFile
  /// Held while records are written.
  private let flushing = Condition(())
  private let state: Mutex<State>
  /// The user's decisions, by the names of the roots.
  private let removals: [[UInt8]: Removals]
  /// The source of each root.
  private let sources: [[UInt8]: SourceIdentity]

  /// Reads the records of earlier migrations from these sources, by the names of their roots; writes
  /// nothing.
  package init(_ file: any StagedFile, of sources: [[UInt8]: SourceIdentity], removals: [[UInt8]: Removals] = [:])
    throws(SystemError)
  {
    self.sources = sources
    self.removals = removals
    var state = State()
    var reader = JournalFile.Reader(file, key: Self.key, end: try file.size())
    var end: UInt64?
    while end == nil {
      switch try reader.next() {
      case .record(.arrived(let item), let position):
        if item.source != .unknown, item.source == sources[Array(item.path.root)] {
          state.positions[Self.hash(item.path)] = item.isVoid ? nil : position
          state.largest = max(state.largest, item.size)
        }
      case .record: break
      case .end(let position): end = position
      }
    }
    journal = JournalFile(file, key: Self.key, position: end ?? 0)
    self.state = Mutex(state)
  }

  private static func hash(_ path: ArchivePath) -> UInt64 { EarlierItems.hash(path, key) }

  /// The source of an item of the part.
  func source(of path: ArchivePath) -> SourceIdentity { sources[Array(path.root)] ?? .unknown }

  /// The user's decision about an item that was moved or removed here.
  func removals(of path: ArchivePath) -> Removals {
    removals.isEmpty ? .unsettled : removals[Array(path.root)] ?? .unsettled
  }

  /// The size of the largest file that an earlier migration has brought.
  var largest: UInt64 { state.withLock { $0.largest } }

  /// Whether nothing has arrived before.
  package var isEmpty: Bool { state.withLock { $0.positions.isEmpty } }

  /// The newest record of a path; nil if it cannot be read: then its item counts as changed here.
  package func item(at path: ArchivePath) -> ArrivedItem? {
    guard let position = state.withLock({ $0.positions[Self.hash(path)] }),
      case .arrived(let item)? = try? journal.record(at: position), item.path == path
    else { return nil }
    return located(item)
  }

  /// Follows the folder of a root to the root's place of today, as after a change of this device's
  /// language: the same folder lies there.
  package func follow(to places: RootDestinations?, in destination: SharedDirectory) {
    for root in sources.keys {
      guard let place = places?[root], let path = try? ArchivePath(root), let item = item(at: path),
        item.kind == .directory, !place.isWithin(item.target), let entry = item.entry,
        let folder = try? DirectoryDisk.directory(of: place, in: destination),
        let there = try? folder.directory.status(place.name), there.kind == .directory, there.inode == entry.inode
      else { continue }
      state.withLock { $0.moved[root] = (item.target, place) }
    }
  }

  /// Records the items of followed folders at their new places. The record of the root comes last:
  /// without it, the next run follows the other items again.
  func recordMoved() throws {
    guard state.withLock({ !$0.moved.isEmpty }) else { return }
    var roots: [ArrivedItem] = []
    try visit { item in
      guard let moved = state.withLock({ $0.moved[Array(item.path.root)] }), item.target.isWithin(moved.to) else {
        return
      }
      if item.path.parent == nil { roots.append(item) } else { try add(item) }
    }
    try flush()
    for root in roots { try add(root) }
    try flush()
  }

  private func located(_ item: ArrivedItem) -> ArrivedItem {
    guard let moved = state.withLock({ $0.moved[Array(item.path.root)] }), item.target.isWithin(moved.from),
      let target = try? ArchivePath(moved.to.bytes + item.target.bytes.dropFirst(moved.from.bytes.count))
    else { return item }
    var item = item
    item.target = target
    return item
  }

  /// Whether there is a record of a path, but for an accident of hashing.
  func knows(_ path: ArchivePath) -> Bool { state.withLock { $0.positions[Self.hash(path)] != nil } }

  /// Calls `body` for the newest record of each path.
  package func visit(_ body: (ArrivedItem) throws -> Void) throws {
    try journal.forEach(upTo: journal.position) { position, record in
      guard case .arrived(let item) = record, state.withLock({ $0.positions[Self.hash(item.path)] }) == position
      else { return }
      try body(located(item))
    }
  }

  /// Whether all items of these roots have arrived, by their number and the last time of change.
  package func hasAll(of roots: [Root], items: UInt64?, changed: ItemTime?) -> Bool {
    guard let items, let changed, roots.allSatisfy({ (try? ArchivePath($0.name)).map(knows) == true }) else {
      return false
    }
    var (count, latest): (UInt64, ItemTime?) = (0, nil)
    do {
      try visit { item in
        count += 1
        if let time = item.changed, latest.map({ $0 < time }) ?? true { latest = time }
      }
    } catch {
      return false
    }
    return (count, latest) == (items, changed)
  }

  /// Adds a record, which is in the file when `flush` returns.
  func add(_ item: ArrivedItem) throws(SystemError) {
    let isFull = state.withLock { state in
      state.pending.append(item)
      return state.pending.count >= Self.together
    }
    if isFull { try flush() }
  }

  func flush() throws(SystemError) {
    try flushing.withLock { (_) throws(SystemError) in try flushAlone() }
  }

  private func flushAlone() throws(SystemError) {
    // The unreadable end of a file is cut off only before writing: no old record may follow a new one.
    if state.withLock({ $0.hasMore }) {
      try journal.file.truncate(to: journal.position)
      state.withLock { $0.hasMore = false }
    }
    let pending = state.withLock { exchange(&$0.pending, with: []) }
    var positions: [UInt64: UInt64?] = [:]
    try journal.append(pending.map { .arrived($0) }) { record, position in
      if case .arrived(let item) = record {
        positions.updateValue(item.isVoid ? nil : position, forKey: Self.hash(item.path))
      }
    }
    state.withLock { state in for (hash, position) in positions { state.positions[hash] = position } }
  }

  /// The file at a path is no base of its next version any more.
  func forgetBase(at path: ArchivePath) {
    guard var item = item(at: path), item.isVerbatim else { return }
    item.isVerbatim = false
    try? add(item)
    try? flush()
  }

  /// Ends the record of an item: from now on it counts as not arrived.
  func void(_ item: ArrivedItem) throws(SystemError) {
    var item = item
    item.isVoid = true
    try add(item)
  }

  /// Returns when the records are durable.
  func synchronize() {
    do throws(SystemError) {
      try journal.file.synchronize()
    } catch {
      noteUnrecorded(error)
    }
  }

  // MARK: What has gone

  /// The first of some items, at the destination, and their number.
  package struct Named: Sendable {
    /// The most items that are named.
    private static let most = 10

    package private(set) var paths: [ArchivePath] = []
    package private(set) var count = 0

    mutating func note(_ path: ArchivePath) {
      count += 1
      if paths.count < Self.most { paths.append(path) }
    }
  }

  /// Records that these items, and no others, do not lie here when the offer comes.
  func note(missed paths: [ArchivePath]) {
    state.withLock {
      $0.missed = Set(paths.map(Self.hash))
      $0.looked = .now()
    }
  }
  /// Lets the import look at the items again, if the looks at the offer are old: a user may have moved or
  /// removed some since.
  func forgetOldLooks() { state.withLock { if .now() > $0.looked + Self.lifeOfLooks { $0.missed = nil } } }
  private static let lifeOfLooks = Duration.seconds(10)
  /// Whether an item lay here when the offer came; false if nothing has looked.
  func wasHere(_ path: ArchivePath) -> Bool {
    state.withLock { $0.missed.map { $0.isEmpty || !$0.contains(Self.hash(path)) } ?? false }
  }
  /// Whether every item did.
  var wereAllHere: Bool { state.withLock { $0.missed?.isEmpty == true } }

  /// Records that an item has been moved or removed here, and stays away.
  func noteAway(_ path: ArchivePath) { state.withLock { $0.away.note(path) } }
  /// Records that an item stays here, and that the sender does not have it any more.
  func noteStayed(_ path: ArchivePath) { state.withLock { $0.stayed.note(path) } }
  /// Records marks of kind 2 of which the sender has no item.
  func noteAbsent(_ marks: [Mark]) { state.withLock { $0.absent.formUnion(marks) } }

  /// Records the items that the sender could not read.
  func noteUnread(_ source: UnreadableSource) { state.withLock { $0.unread = source } }
  /// Whether an item that did not come may still exist at the source, and could not be read.
  func mayBeUnread(_ path: ArchivePath) -> Bool { state.withLock { $0.unread?.covers(path) ?? true } }

  /// Counts an item that the sender has, and that was moved or removed here.
  func countRemoved(isMeant: Bool) {
    state.withLock { state in
      state.removed.count += 1
      if !isMeant { state.removed.unsettled += 1 }
    }
  }

  package var removed: Done.Removed { state.withLock { $0.removed } }
  var absent: Set<Mark> { state.withLock { $0.absent } }
  /// Records that a folder was replaced whole, and has this name now.
  func noteAside(_ path: ArchivePath) { state.withLock { $0.aside.note(path) } }
  package var aside: Named { state.withLock { $0.aside } }
  package var away: Named { state.withLock { $0.away } }
  package var stayed: Named { state.withLock { $0.stayed } }

  /// Records that some items that an import put in place could not be recorded.
  func noteUnrecorded(_ error: any Error) { state.withLock { $0.trouble = "\(error)" } }
  /// Why some records of this import could not be written: their items count as changed here next time.
  package var trouble: String? { state.withLock { $0.trouble } }
}

extension ArrivedItem {
  /// The mark by which a sender leaves out the unchanged item; nil for a directory. If the item was
  /// moved or removed here, the newest version that was kept away counts.
  func presentMark(_ keys: TransferKeys, timeGranularity: UInt32, isAway: Bool) -> Mark? {
    let version = version(isAway: isAway)
    return switch version.kind {
    case .file:
      keys.presentMark(path: path, size: version.size, modified: version.modified.rounded(to: timeGranularity))
    case .symbolicLink: keys.presentMark(path: path, target: version.target)
    case .directory, .hardLink, .metadata: nil
    }
  }
}
