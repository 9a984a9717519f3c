import MigrationSystem
import MigrationWire

/// The remaining work of an archive, and the work that each reader has in hand.
///
/// A value without clocks and files. It hands out runs of adjacent items, parts of large files, and
/// items that must be tried again. Several readers work in different folders as long as there are
/// several, because a file system creates entries in one folder one at a time. Times are seconds.
package struct WorkList: Sendable {
  typealias Reader = Int
  /// The number of a set of items that are read together.
  package typealias Batch = Int
  typealias FileNumber = Int

  /// An item of a batch, by its index in the batch's tree.
  struct Item: Hashable, Sendable {
    let batch: Batch
    let index: Int
  }

  /// The number of tries for an item: looks while its state could not be distinguished from the
  /// next one, and reads while it changed.
  struct Tries: Equatable, Sendable {
    var looks = 0
    var reads = 0
    /// How often another reader was processing another name of it.
    var waits = 0
    /// The stamp of its last change at the last look, which the sender has waited for since.
    var awaited: Timestamp?

    /// Whether the file is given up if it changes in this read as well.
    var isLastRead: Bool { reads >= WorkList.pauses.count }
    /// Whether it counts as changed if its last change is still too recent.
    var isLastLook: Bool { looks >= WorkList.looks }

    /// The seconds to wait for another name: many names of one large file must not keep readers busy
    /// with checking them.
    var pause: Double { min(0.01 * Double(1 << min(waits, 10)), 2) }
  }

  /// The next work of a reader.
  enum Work: Equatable, Sendable {
    case run(Batch, Range<Int>)
    case again(Item, Tries)
    /// Parts of an open large file.
    case file(FileNumber)
    /// No work now: the remaining work becomes available at the given time, or when the receiver
    /// has written more, or other readers have it.
    case nothing(until: Double?)
  }

  /// The pauses before files that changed while they were read are tried again, in seconds.
  static let pauses = [0.02, 0.1, 0.5, 2]
  /// How often a file is checked whose last change is too recent.
  static let looks = 5
  /// The approximate limits of a run, in bytes and items. Runs are shorter towards the end of a
  /// batch, so that the readers finish together.
  static let run = (bytes: UInt64(1 << 20), items: 256, fewest: 4)
  /// The least number of runs per reader that the rest of a batch is divided into.
  private static let shares = 4

  private struct Entry: Sendable {
    let tree: SourceTree
    let merged: Set<Int>
    /// No item from here on has been handed out.
    var cursor = 0
    /// The remaining items of the folders that readers work in.
    var folders: [Reader: Range<Int>] = [:]
    /// The number of items that are not done, including those that readers have in hand.
    var left: Int
    /// The work that no reader has had in hand: items, and bytes of files.
    var items: Int
    var bytes: UInt64
    /// The items that changed while they were read; they are tried again when the rest of the batch
    /// is done.
    var restless: [(index: Int, tries: Tries)] = []
    /// When they are tried again.
    var due: Double?
    /// The last frame with a part of an abandoned file.
    var lastFrame: UInt64 = 0
  }

  private struct OpenFile: Sendable {
    let item: Item
    var readers = 1
    /// Whether it has parts that no reader has taken.
    var hasMore = true
    /// The frame that the receiver must have written before the first part may be sent.
    var mayFollow: UInt64?
  }

  /// In the order of their arrival.
  private var batches: [(number: Batch, entry: Entry)] = []
  private var files: [FileNumber: OpenFile] = [:]
  /// Items whose last change is too recent, and items that wait for another item.
  private var later: [(item: Item, tries: Tries, due: Double)] = []
  private var lastBatch = 0
  private var lastFile = 0
  private let readers: Int

  /// Creates a list for at most this many readers.
  init(readers: Int) { self.readers = readers }

  /// Whether every added item is done.
  var isEmpty: Bool { batches.isEmpty }

  /// The approximate number of frames, of the given length, in the work that no reader has in hand;
  /// items that only wait do not count.
  func waitingFrames(of length: Int, now: Double) -> Int {
    let open = files.values.count(where: \.hasMore) * Int(Self.run.bytes) / length
    let inBatches = batches.map { _, entry in
      max(Int(entry.bytes / UInt64(length)), (entry.items + Self.run.items - 1) / Self.run.items)
    }
    let due = later.count { $0.due <= now }
    return open + inBatches.reduce(0, +) + (due + Self.run.items - 1) / Self.run.items
  }

  /// Whether a batch is done.
  func isDone(_ batch: Batch) -> Bool { !batches.contains { $0.number == batch } }

  /// Adds the items of a tree, except those that are already in the archive. If its reader takes all of
  /// them at once, they can only be tried again.
  mutating func add(_ tree: SourceTree, merged: Set<Int> = [], areTaken: Bool = false) -> Batch {
    lastBatch += 1
    let (count, left) = (tree.nodes.count, tree.nodes.count - merged.count)
    var entry = Entry(tree: tree, merged: merged, left: left, items: count, bytes: tree.total.bytes)
    if areTaken { (entry.cursor, entry.items, entry.bytes) = (count, 0, 0) }
    if left > 0 { batches.append((lastBatch, entry)) }
    return lastBatch
  }

  // MARK: Handing out work

  /// The next work of a reader that has finished its work. The receiver has written every frame
  /// with a number below `written`.
  mutating func next(for reader: Reader, now: Double, written: UInt64) -> Work {
    if let index = later.firstIndex(where: { $0.due <= now }) {
      let (item, tries, _) = later.remove(at: index)
      return .again(item, tries)
    }
    for place in batches.indices {
      if let run = takeRun(of: place, for: reader) { return .run(batches[place].number, run) }
    }
    if let number = joinable(written) {
      files[number]?.readers += 1
      return .file(number)
    }
    for place in batches.indices {
      if let run = takeShare(of: place, for: reader) { return .run(batches[place].number, run) }
    }
    for place in batches.indices where isRestless(place) {
      if let work = takeRestless(of: place, now: now, written: written) { return work }
    }
    let waits = later.map(\.due) + batches.compactMap(\.entry.due)
    return .nothing(until: waits.filter { $0 > now }.min())
  }

  private mutating func takeRun(of place: Int, for reader: Reader) -> Range<Int>? {
    guard let run = nextRun(of: place, for: reader) else { return nil }
    let entry = batches[place].entry
    batches[place].entry.items -= run.count
    for node in entry.tree.nodes[run] {
      batches[place].entry.bytes -= min(batches[place].entry.bytes, node.countedSize)
    }
    return run
  }

  private mutating func nextRun(of place: Int, for reader: Reader) -> Range<Int>? {
    let nodes = batches[place].entry.tree.nodes
    let most = mostItems(of: place)
    if let folder = batches[place].entry.folders[reader] {
      let run = Self.run(nodes, folder, most)
      batches[place].entry.folders[reader] =
        run.upperBound < folder.upperBound ? run.upperBound..<folder.upperBound : nil
      return run
    }
    let start = batches[place].entry.cursor
    guard start < nodes.count else { return nil }
    let run = Self.run(nodes, start..<nodes.count, most)
    // This reader keeps the rest of the last folder, and the next reader begins behind it.
    var end = run.upperBound
    while end < nodes.count, nodes[end].parent == nodes[end - 1].parent { end += 1 }
    batches[place].entry.cursor = end
    if end > run.upperBound { batches[place].entry.folders[reader] = run.upperBound..<end }
    return run
  }

  /// The beginning of a range, as long as one run.
  private static func run(_ nodes: [SourceTree.Node], _ range: Range<Int>, _ most: Int) -> Range<Int> {
    var (end, bytes) = (range.lowerBound, UInt64(0))
    while end < range.upperBound, end - range.lowerBound < most, bytes < run.bytes {
      // Files with holes may have any size.
      bytes += min(nodes[end].countedSize, run.bytes)
      end += 1
    }
    return range.lowerBound..<end
  }

  private func mostItems(of place: Int) -> Int {
    min(Self.run.items, max(Self.run.fewest, batches[place].entry.items / (Self.shares * readers)))
  }

  /// The second half of the rest of another reader's folder.
  private mutating func takeShare(of place: Int, for reader: Reader) -> Range<Int>? {
    let folders = batches[place].entry.folders
    guard let (owner, folder) = folders.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }) else {
      return nil
    }
    let middle = folder.lowerBound + folder.count / 2
    batches[place].entry.folders[owner] = middle > folder.lowerBound ? folder.lowerBound..<middle : nil
    batches[place].entry.folders[reader] = middle..<folder.upperBound
    return takeRun(of: place, for: reader)
  }

  // MARK: Items to try again

  /// Schedules an item to be tried again at the given time.
  mutating func postpone(_ item: Item, _ tries: Tries, until due: Double) { later.append((item, tries, due)) }

  /// Records that an item changed while it was read; `frame` is the last frame with an abandoned
  /// part of it, or 0.
  mutating func changed(_ item: Item, _ tries: Tries, lastFrame frame: UInt64) {
    guard let place = batches.firstIndex(where: { $0.number == item.batch }) else { return }
    batches[place].entry.restless.append((item.index, tries))
    batches[place].entry.lastFrame = max(batches[place].entry.lastFrame, frame)
  }

  /// Whether only changing items remain of a batch.
  private func isRestless(_ place: Int) -> Bool {
    let entry = batches[place].entry
    return !entry.restless.isEmpty && entry.left == entry.restless.count
  }

  /// Takes all changed items together, after a pause, when the receiver has written their abandoned
  /// parts.
  private mutating func takeRestless(of place: Int, now: Double, written: UInt64) -> Work? {
    let (number, entry) = batches[place]
    let tries = entry.restless.map(\.tries.reads).max() ?? 0
    guard let due = entry.due else {
      batches[place].entry.due = now + Self.pauses[min(tries, Self.pauses.count) - 1]
      return nil
    }
    guard due <= now, entry.lastFrame < written else { return nil }
    later += entry.restless.map { (Item(batch: number, index: $0.index), $0.tries, now) }
    batches[place].entry.restless = []
    batches[place].entry.due = nil
    let (item, itemTries, _) = later.removeLast()
    return .again(item, itemTries)
  }

  // MARK: Large files

  /// Records that a reader has opened a large file and reads its first parts. With `frame`, the
  /// receiver must have written that frame first.
  mutating func opened(_ item: Item, after frame: UInt64?) -> FileNumber {
    lastFile += 1
    files[lastFile] = OpenFile(item: item, readers: frame == nil ? 1 : 0, mayFollow: frame)
    return lastFile
  }

  private func joinable(_ written: UInt64) -> FileNumber? {
    files.filter { $0.value.hasMore && $0.value.mayFollow.map { $0 < written } ?? true }
      .min { ($0.value.readers, $0.key) < ($1.value.readers, $1.key) }?.key
  }

  /// Records that no parts of a file remain for readers to take.
  mutating func exhausted(_ file: FileNumber) { files[file]?.hasMore = false }

  /// Records that a reader has stopped reading a file. Returns whether it was the last reader.
  mutating func left(_ file: FileNumber) -> Bool {
    guard var open = files[file] else { return false }
    open.readers -= 1
    let isLast = open.readers == 0 && !open.hasMore
    files[file] = isLast ? nil : open
    return isLast
  }

  // MARK: Completion

  /// Records that this many items of a batch are in the archive, or never will be. Returns whether
  /// the batch is done.
  @discardableResult
  mutating func done(_ count: Int, of batch: Batch) -> Bool {
    guard count > 0, let place = batches.firstIndex(where: { $0.number == batch }) else { return false }
    batches[place].entry.left -= count
    precondition(batches[place].entry.left >= 0, "an item is done only once")
    guard batches[place].entry.left == 0 else { return false }
    batches.remove(at: place)
    return true
  }
}
