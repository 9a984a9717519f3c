import MigrationArchive
import MigrationWire

/// The content that was sent, and how much of it more than once.
struct SentContent {
  private(set) var bytes = 0
  private(set) var bytesTwice = 0
  private var once: [ItemState: ByteRanges] = [:]
  private var refused: Set<ItemState> = []
  /// The items that a FINISH did not cover: from then on the receiver may have discarded them.
  private var uncovered: [TransferID: Set<ItemState>] = [:]

  mutating func send(_ item: ItemState, _ range: Range<UInt64>) {
    var ranges = once[item, default: ByteRanges()]
    let before = ranges.count
    ranges.insert(range)
    once[item] = ranges
    if !refused.contains(item) { bytesTwice += range.count - Int(ranges.count - before) }
    bytes += range.count
  }

  /// The receiver no longer has a file of its own at this path: its content comes again when its
  /// other names vanish.
  mutating func letGo(at path: ArchivePath) { once = once.filter { $0.key.path != path } }

  /// The destination cannot hold the item: a sender may send some of it again before it learns
  /// this.
  mutating func refuse(_ item: ItemState) { refused.insert(item) }

  /// The received data is about to be compared with a FINISH: dropped items and incomplete files
  /// are discarded.
  mutating func conclude(_ staging: Staging, without dropped: Set<Mark>) {
    let incomplete = Promises.Held(staging, staging.keys).incomplete
    let letGo = once.keys.filter {
      incomplete.contains($0) || dropped.contains(staging.keys.mark(path: $0.path, generation: $0.generation))
    }
    uncovered[staging.transfer, default: []].formUnion(letGo)
  }

  /// Staging was taken back, with all its items. The discarded ones are missing, and a sender whose
  /// source has them sends them again: another process may have listed the source later.
  mutating func recovered(_ staging: Staging) {
    guard staging.stage == .receiving, let items = uncovered.removeValue(forKey: staging.transfer) else { return }
    let held = Promises.Held(staging, staging.keys)
    for item in items { if let ranges = held.incompleteRanges(of: item) { once[item] = ranges } }
  }
}
