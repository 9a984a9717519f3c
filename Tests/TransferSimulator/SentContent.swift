import MigrationArchive
import MigrationWire

/// What content was sent, and how much of it more than once.
struct SentContent {
  private(set) var bytes = 0
  private(set) var bytesTwice = 0
  private var once: [ItemState: ByteRanges] = [:]
  private var refused: Set<ItemState> = []
  /// What a FINISH did not cover: from then on the receiver may have it no more.
  private var uncovered: [TransferID: Set<ItemState>] = [:]

  mutating func send(_ item: ItemState, _ range: Range<UInt64>) {
    var ranges = once[item, default: ByteRanges()]
    let before = ranges.count
    ranges.insert(range)
    once[item] = ranges
    if !refused.contains(item) { bytesTwice += range.count - Int(ranges.count - before) }
    bytes += range.count
  }

  /// The receiver has no file of its own at this path any more: where its other names vanish, it comes again.
  mutating func letGo(at path: ArchivePath) { once = once.filter { $0.key.path != path } }

  /// The destination cannot hold it: a sender may send of it again before it hears of that.
  mutating func refuse(_ item: ItemState) { refused.insert(item) }

  /// What arrived is about to be compared with a FINISH: what its sender has named as gone, and incomplete files, give way.
  mutating func conclude(_ staging: Staging, without dropped: Set<Mark>) {
    let incomplete = Promises.Held(staging, staging.keys).incomplete
    let letGo = once.keys.filter {
      incomplete.contains($0) || dropped.contains(staging.keys.mark(path: $0.path, generation: $0.generation))
    }
    uncovered[staging.transfer, default: []].formUnion(letGo)
  }

  /// Staging was taken back, and everything in it is not at its place. What gave way is missing, and sent again by a sender whose
  /// source has it: another process may have listed it later.
  mutating func recovered(_ staging: Staging) {
    guard staging.stage == .receiving, let items = uncovered.removeValue(forKey: staging.transfer) else { return }
    let held = Promises.Held(staging, staging.keys)
    for item in items { if let ranges = held.incompleteRanges(of: item) { once[item] = ranges } }
  }
}
