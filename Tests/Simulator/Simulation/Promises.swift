import MigrationArchive
import MigrationWire

/// A part of an item that was acknowledged to the sender: the item, or a range of a file.
struct Promise: Equatable {
  let path: ArchivePath
  let generation: Generation
  /// Nil for a whole item.
  let range: Range<UInt64>?
}

/// An item in one state.
struct ItemState: Hashable {
  let path: ArchivePath
  let generation: Generation
}

/// The content that survives a power failure at one moment, and need not be read again.
struct DurableContent {
  private var items: Set<ItemState> = []
  private var ranges: [ItemState: ByteRanges] = [:]

  mutating func add(_ promise: Promise) {
    let key = ItemState(path: promise.path, generation: promise.generation)
    if let range = promise.range { ranges[key, default: ByteRanges()].insert(range) } else { items.insert(key) }
  }

  func has(_ path: ArchivePath, _ generation: Generation, anyOf range: Range<UInt64>) -> Bool {
    let key = ItemState(path: path, generation: generation)
    return items.contains(key) || ranges[key].map { $0.cover(of: range) != .none } ?? false
  }
}

/// All acknowledgements, and whether each is true.
final class Promises {
  private let world: World
  private var written: [Promise] = []
  private var durable: [Promise] = []
  /// The paths that were sent as links: content held for a file of such a name is discarded.
  private var links: Set<ArchivePath> = []
  /// The present generations at the source, by path.
  private let currentGenerations: () -> [ArchivePath: Generation]

  init(_ world: World, current: @escaping () -> [ArchivePath: Generation]) {
    self.world = world
    currentGenerations = current
  }

  /// A frame is acknowledged as written: everything in it must be held.
  func written(_ body: [UInt8], in staging: Staging?, keys: TransferKeys) -> [Promise] {
    var promises: [Promise] = []
    var reader = EntryReader(Limits.dataHeader..<body.count)
    while let entry = try? reader.next(body.span) {
      switch entry {
      case .item(let record, let content):
        // A large file's record contains none of its bytes.
        if record.size > 0, content == nil { continue }
        promises.append(Promise(path: record.path, generation: record.generation, range: nil))
      case .chunk(let place, _, _), .hole(let place, _):
        promises.append(Promise(path: place.path, generation: place.generation, range: place.range))
      }
    }
    if let staging { check(promises, in: Held(staging, keys), "was acknowledged and is not held") }
    written += promises
    return promises
  }

  var isEmpty: Bool { written.isEmpty && durable.isEmpty }

  /// A link is sent.
  func sendingLink(_ path: ArchivePath) { links.insert(path) }

  /// These promises are acknowledged as durable.
  func durable(_ promises: [Promise]) { durable += promises }

  /// The content that was acknowledged as durable and is still held. An export may read content of
  /// refused items before it learns of the refusal.
  func durableContent(in staging: Staging, keys: TransferKeys) -> DurableContent {
    let held = Held(staging, keys)
    var content = DurableContent()
    for promise in durable where !links.contains(promise.path) && held.holds(promise) { content.add(promise) }
    return content
  }

  /// The sender has dropped these items. It may be another process, which knows an older state of
  /// the source.
  func dropped(_ marks: [Mark], keys: TransferKeys) {
    let marks = Set(marks)
    written.removeAll { marks.contains(keys.mark(path: $0.path, generation: $0.generation)) }
    durable.removeAll { marks.contains(keys.mark(path: $0.path, generation: $0.generation)) }
  }

  /// A FINISH is compared with the received items: those that are incomplete belong to no archive,
  /// and are discarded. It may come from another process, which knows a different state of the
  /// source.
  func finishing(_ staging: Staging, keys: TransferKeys) {
    let held = Held(staging, keys)
    check(written, in: held, "was acknowledged as written and is not there at the end")
    written.removeAll { !held.isSettled($0) }
    durable.removeAll { !held.isSettled($0) }
  }

  /// An archive is complete: its promises are fulfilled.
  func fulfilled() {
    written = []
    durable = []
  }

  /// Staging was taken back after the process had died.
  func recovered(_ staging: Staging, keys: TransferKeys, hasLostPower: Bool) {
    guard staging.stage == .receiving else { return }
    let held = Held(staging, keys)
    check(
      hasLostPower ? durable : written, in: held,
      hasLostPower ? "was acknowledged as durable and is lost" : "was acknowledged as written and is lost")
    if hasLostPower { written = durable }
  }

  private func check(_ promises: [Promise], in held: Held, _ what: String) {
    guard !promises.isEmpty else { return }
    let current = currentGenerations()
    // Content that the source no longer has, or has in another state, may be discarded.
    for promise in promises
    where current[promise.path] == promise.generation && !links.contains(promise.path) && !held.has(promise) {
      let path = String(decoding: promise.path.bytes, as: UTF8.self)
      world.fail("\(path) \(promise.range.map { "\($0)" } ?? "whole") \(what)")
    }
  }

  /// The contents of a ledger.
  struct Held {
    private let marks: Set<Mark>
    private let partials: [ArchivePath: Partial]
    private let keys: TransferKeys
    /// Items that the destination cannot hold need not be there.
    private let refused: Set<Mark>

    init(_ staging: Staging, _ keys: TransferKeys) {
      refused = Set(staging.refusals(from: 0).compactMap { $0.mark(keys) })
      var reader = LedgerReader(staging, present: PresentItems(), room: .max, partLength: .max)
      let part = reader.next()
      marks = Set(part.pages.flatMap(\.marks))
      partials = Dictionary(part.partials.map { ($0.path, $0) }) { one, _ in one }
      self.keys = keys
    }

    /// Whether it is held, or need not be held.
    func has(_ promise: Promise) -> Bool { isSettled(promise) || holds(promise) }

    /// Whether its item is complete, or refused.
    func isSettled(_ promise: Promise) -> Bool {
      let mark = keys.mark(path: promise.path, generation: promise.generation)
      return marks.contains(mark) || refused.contains(mark)
    }

    /// The incomplete files.
    var incomplete: Set<ItemState> {
      Set(partials.values.map { ItemState(path: $0.path, generation: $0.generation) })
    }

    /// The held ranges of an incomplete item; nil if it is complete.
    func incompleteRanges(of item: ItemState) -> ByteRanges? {
      if marks.contains(keys.mark(path: item.path, generation: item.generation)) { return nil }
      guard let partial = partials[item.path], partial.generation == item.generation else { return ByteRanges() }
      return partial.ranges
    }

    func holds(_ promise: Promise) -> Bool {
      if marks.contains(keys.mark(path: promise.path, generation: promise.generation)) { return true }
      guard let range = promise.range, let partial = partials[promise.path] else { return false }
      return partial.generation == promise.generation && partial.ranges.cover(of: range) == .whole
    }
  }
}
