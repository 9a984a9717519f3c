/// Which small files are asked of the disk before it is their turn. Times are seconds.
///
/// A value without clocks. A file that is not in memory costs a wait of its own, and a disk could do many at a time; one that
/// is in memory would only be opened twice. So it asks for nothing until reading is slow, and then for a while.
struct ReadAhead: Equatable {
  /// So many slow reads in a row mean that files are not in memory.
  private static let slowReads = 8
  /// A read from memory takes less than this, and this much for a byte.
  private static let memory = (atLeast: 60e-6, perByte: 0.5e-9)
  /// For so many reads it goes on before it looks again.
  private static let stretch = 4_096
  /// How far ahead it asks, in items, and from how few on it asks for more.
  private static let distance = (most: 128, least: 64)

  /// Opening a file whose directory is in memory takes less than this.
  private static let opening = 300e-6

  /// Whether opening waits as long as reading: then asking is no gain.
  private var isVain = false
  private var slow = 0
  private var left = 0
  /// Everything in front of this item has been asked for.
  private var horizon = 0

  /// The file at `index` of `count` items was read; the items to ask for now, which may be none.
  mutating func read(_ index: Int, of count: Int, bytes: UInt64, seconds: Double) -> Range<Int> {
    guard !isVain else { return 0..<0 }
    if left == 0 {
      slow = seconds > Self.memory.atLeast + Self.memory.perByte * Double(bytes) ? slow + 1 : 0
      guard slow >= Self.slowReads else { return 0..<0 }
      slow = 0
      left = Self.stretch
    }
    left -= 1
    // Another folder of the same tree, or another tree.
    if horizon > index + Self.distance.most { horizon = 0 }
    guard horizon - index <= Self.distance.least else { return 0..<0 }
    let start = max(horizon, index + 1)
    let end = min(count, index + 1 + Self.distance.most)
    guard start < end else { return 0..<0 }
    horizon = end
    return start..<end
  }

  /// So many files were asked for, and opening them took so long.
  mutating func asked(for count: Int, seconds: Double) { isVain = seconds > Self.opening * Double(count) }
}
