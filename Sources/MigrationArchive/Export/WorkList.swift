import MigrationSystem
import MigrationWire

/// What of an archive is still to be read, and which reader has what of it in hand.
///
/// A value without clocks and files: it hands out runs of items that stand together, parts of large files, and items whose turn comes
/// once more. Readers stay in different folders as long as there are several, since a file system makes one entry at a time in a
/// folder. Times are seconds.
package struct WorkList: Sendable {
  typealias Reader = Int
  /// The number of what is read together.
  package typealias Batch = Int
  typealias FileNumber = Int

  /// An item of a batch, by its place in the batch's tree.
  struct Item: Hashable, Sendable {
    let batch: Batch
    let index: Int
  }

  /// How often an item has been tried: looked at while its state could not be told from the next, and read while it changed.
  struct Tries: Equatable, Sendable {
    var looks = 0
    var reads = 0
    /// How often another name of it was in other hands.
    var waits = 0
    /// The stamp of its last change at the last look, which has been waited for since.
    var awaited: Timestamp?

    /// For how long another name is waited for: many names of one large file must not keep readers busy with looking at them.
    var pause: Double { min(0.01 * Double(1 << min(waits, 10)), 2) }
  }

  /// What a reader does next.
  enum Work: Equatable, Sendable {
    case run(Batch, Range<Int>)
    case again(Item, Tries)
    /// Parts of a large file that is open.
    case file(FileNumber)
    /// Nothing now: what there is comes by the time, or when the receiver has written more, or is in other hands.
    case nothing(until: Double?)
  }

  /// The pauses before files that changed while they were read are tried again.
  static let pauses = [0.02, 0.1, 0.5, 2]
  /// How often a file is looked at whose last change is too young.
  static let looks = 5
  /// A run has about so many bytes at most, and so many items; towards the end of a batch fewer, so that readers end together.
  static let run = (bytes: UInt64(1 << 20), items: 256, fewest: 4)
  /// Into how many runs what is left of a batch is cut at least, for each reader.
  private static let shares = 4

  private struct Entry: Sendable {
    let tree: SourceTree
    let merged: Set<Int>
    /// From here on nothing has been handed out.
    var cursor = 0
    /// What is left of the folders that readers are in.
    var folders: [Reader: Range<Int>] = [:]
    /// How many items are not done yet, in whatever hands.
    var left: Int
    /// What no reader has had in hand: items, and bytes of files.
    var items: Int
    var bytes: UInt64
    /// The items that changed while they were read, for when all else of the batch is done.
    var restless: [(index: Int, tries: Tries)] = []
    /// When they are tried again.
    var due: Double?
    /// The last frame with a part of one that was given up.
    var lastFrame: UInt64 = 0
  }

  private struct OpenFile: Sendable {
    let item: Item
    var readers = 1
    /// Whether there are parts that no reader has taken.
    var hasMore = true
    /// The frame that must be written before the first part may be sent.
    var mayFollow: UInt64?
  }

  /// In the order in which they came.
  private var batches: [(number: Batch, entry: Entry)] = []
  private var files: [FileNumber: OpenFile] = [:]
  /// Items whose last change is too young, and items that wait for another one.
  private var later: [(item: Item, tries: Tries, due: Double)] = []
  private var lastBatch = 0
  private var lastFile = 0
  private let readers: Int

  /// For so many readers at most.
  init(readers: Int) { self.readers = readers }

  /// Whether everything that was added is done.
  var isEmpty: Bool { batches.isEmpty }

  /// About how many frames what no reader has in hand makes, each of so many bytes; what is only waited for makes none.
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

  /// Adds the items of a tree but those that are in the archive already.
  mutating func add(_ tree: SourceTree, merged: Set<Int> = []) -> Batch {
    lastBatch += 1
    let left = tree.nodes.count - merged.count
    if left > 0 {
      batches.append(
        (lastBatch, Entry(tree: tree, merged: merged, left: left, items: tree.nodes.count, bytes: tree.total.bytes)))
    }
    return lastBatch
  }

  /// Adds the items of a tree, all of which its reader has in hand at once; they may come again.
  mutating func addTaken(_ tree: SourceTree) -> Batch {
    lastBatch += 1
    let entry = Entry(tree: tree, merged: [], cursor: tree.nodes.count, left: tree.nodes.count, items: 0, bytes: 0)
    batches.append((lastBatch, entry))
    return lastBatch
  }

  // MARK: What is next

  /// What a reader does next, which has done what it had. Every frame with a number below `written` is written at the receiver.
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
    // The rest of the folder that it ends in stays with this reader, and the next one begins behind it.
    var end = run.upperBound
    while end < nodes.count, nodes[end].parent == nodes[end - 1].parent { end += 1 }
    batches[place].entry.cursor = end
    if end > run.upperBound { batches[place].entry.folders[reader] = run.upperBound..<end }
    return run
  }

  /// The beginning of a range that makes a run.
  private static func run(_ nodes: [SourceTree.Node], _ range: Range<Int>, _ most: Int) -> Range<Int> {
    var (end, bytes) = (range.lowerBound, UInt64(0))
    while end < range.upperBound, end - range.lowerBound < most, bytes < run.bytes {
      // Files with holes may be as large as they please.
      bytes += min(nodes[end].countedSize, run.bytes)
      end += 1
    }
    return range.lowerBound..<end
  }

  private func mostItems(of place: Int) -> Int {
    min(Self.run.items, max(Self.run.fewest, batches[place].entry.items / (Self.shares * readers)))
  }

  /// The second half of what another reader has left of its folder.
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

  // MARK: Items that come again

  /// An item is tried again at a moment.
  mutating func postpone(_ item: Item, _ tries: Tries, until due: Double) { later.append((item, tries, due)) }

  /// An item changed while it was read; `frame` is the last one with a part of it that was given up, 0 if there is none.
  mutating func changed(_ item: Item, _ tries: Tries, lastFrame frame: UInt64) {
    guard let place = batches.firstIndex(where: { $0.number == item.batch }) else { return }
    batches[place].entry.restless.append((item.index, tries))
    batches[place].entry.lastFrame = max(batches[place].entry.lastFrame, frame)
  }

  /// Whether nothing is left of a batch but what changes.
  private func isRestless(_ place: Int) -> Bool {
    let entry = batches[place].entry
    return !entry.restless.isEmpty && entry.left == entry.restless.count
  }

  /// All of what changed comes again at once, after a pause, and when what was given up of it is written.
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

  /// A reader has opened a large file, and is the first to read parts of it. With `frame`, that one must be written before.
  mutating func opened(_ item: Item, after frame: UInt64?) -> FileNumber {
    lastFile += 1
    files[lastFile] = OpenFile(item: item, readers: frame == nil ? 1 : 0, mayFollow: frame)
    return lastFile
  }

  private func joinable(_ written: UInt64) -> FileNumber? {
    files.filter { $0.value.hasMore && $0.value.mayFollow.map { $0 < written } ?? true }
      .min { ($0.value.readers, $0.key) < ($1.value.readers, $1.key) }?.key
  }

  /// There is no part of a file left that a reader could take.
  mutating func exhausted(_ file: FileNumber) { files[file]?.hasMore = false }

  /// A reader reads no more of a file; whether it was the last one.
  mutating func left(_ file: FileNumber) -> Bool {
    guard var open = files[file] else { return false }
    open.readers -= 1
    let isLast = open.readers == 0 && !open.hasMore
    files[file] = isLast ? nil : open
    return isLast
  }

  // MARK: The end

  /// So many items of a batch are in the archive, or will never be; whether that was the last of it.
  @discardableResult
  mutating func done(_ count: Int, of batch: Batch) -> Bool {
    guard count > 0, let place = batches.firstIndex(where: { $0.number == batch }) else { return false }
    batches[place].entry.left -= count
    precondition(batches[place].entry.left >= 0, "an item is done once")
    guard batches[place].entry.left == 0 else { return false }
    batches.remove(at: place)
    return true
  }
}
