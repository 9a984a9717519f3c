import MigrationSystem
import MigrationWire

/// Decides which small files to request from the disk before they are read. Times are seconds.
///
/// A value without clocks. A file that is not in memory costs a wait of its own, although a disk
/// could serve many requests at a time; a file that is in memory would only be opened twice. So the
/// sender requests nothing until reading is slow, and then requests files for a while.
struct ReadAhead: Equatable {
  /// This many slow reads in a row mean that the files are not in memory.
  private static let slowReads = 8
  /// A read from memory takes less than this time, plus this time per byte.
  private static let memory = (atLeast: 60e-6, perByte: 0.5e-9)
  /// The number of reads before it checks again whether requests help.
  private static let stretch = 4_096
  /// How many items ahead it requests, and below how many it requests more.
  private static let distance = (most: 128, least: 64)

  /// Opening a file takes less than this time if its directory is in memory.
  private static let opening = 300e-6

  /// Whether opening waits as long as reading does: then requests gain nothing.
  private var isVain = false
  private var slow = 0
  private var left = 0
  /// All items before this one have been requested.
  private var horizon = 0

  /// Records that the file at `index` of `count` items was read. Returns the items to request now,
  /// which may be none.
  mutating func read(_ index: Int, of count: Int, bytes: UInt64, seconds: Double) -> Range<Int> {
    guard !isVain else { return 0..<0 }
    if left == 0 {
      slow = seconds > Self.memory.atLeast + Self.memory.perByte * Double(bytes) ? slow + 1 : 0
      guard slow >= Self.slowReads else { return 0..<0 }
      slow = 0
      left = Self.stretch
    }
    left -= 1
    // The index belongs to another folder of the tree, or to another tree.
    if horizon > index + Self.distance.most { horizon = 0 }
    guard horizon - index <= Self.distance.least else { return 0..<0 }
    let start = max(horizon, index + 1)
    let end = min(count, index + 1 + Self.distance.most)
    guard start < end else { return 0..<0 }
    horizon = end
    return start..<end
  }

  /// Records how long opening the requested files took.
  mutating func asked(for count: Int, seconds: Double) { isVain = seconds > Self.opening * Double(count) }
}

extension ArchiveReader {
  /// Asks the disk for the small files that are read next, if reading is the bottleneck.
  func fetch(behind item: WorkList.Item, in batch: SourceBatch<Source>, after seconds: Double) {
    guard let run, run.number == item.batch else { return }
    let nodes = batch.tree.nodes
    let wanted = readAhead.read(
      item.index, of: run.items.upperBound, bytes: nodes[item.index].countedSize, seconds: seconds)
    let begun = BootInstant.now()
    defer {
      if !wanted.isEmpty { readAhead.asked(for: wanted.count, seconds: BootInstant.now().seconds(since: begun)) }
    }
    for other in wanted {
      let node = nodes[other]
      guard node.kind == .file, (1...UInt64(packer.sizes.smallFile)).contains(node.countedSize) else { continue }
      if ahead?.batch != item.batch || ahead?.parent != node.parent {
        // Any error of this file is found when the file is read.
        guard let directory = try? batch.open(node.parent) else { continue }
        ahead = (item.batch, node.parent, directory)
      }
      ahead?.directory.fetch(batch.tree.name(node), length: Int(node.size))
    }
  }
}
