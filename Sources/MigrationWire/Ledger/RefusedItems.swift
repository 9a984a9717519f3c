/// The items that the destination cannot hold (Protocol §9.8): each counts like one that is held,
/// and nothing of it is there.
struct RefusedItems: Sendable {
  private struct Entry: Sendable {
    let path: UInt128
    let size: UInt64
  }

  private let keys: TransferKeys
  private var entries: [Mark: Entry] = [:]
  /// How many refused states each path has.
  private var paths: [UInt128: Int] = [:]

  private(set) var total = Tally()
  /// The sum of their marks.
  private(set) var digest: UInt128 = 0

  init(_ keys: TransferKeys) { self.keys = keys }

  var marks: [Mark] { Array(entries.keys) }

  func holds(_ mark: Mark) -> Bool { !entries.isEmpty && entries[mark] != nil }

  /// Whether an item of this path is refused, in any state.
  func holds(path: ArchivePath) -> Bool { !paths.isEmpty && paths[keys.digest(of: path)] != nil }

  mutating func add(_ path: ArchivePath, _ mark: Mark, size: UInt64) {
    let digest = keys.digest(of: path)
    guard entries.updateValue(Entry(path: digest, size: size), forKey: mark) == nil else { return }
    paths[digest, default: 0] += 1
    total = total.adding(Tally(items: 1, bytes: size))
    self.digest &+= mark
  }

  mutating func remove(_ mark: Mark) {
    guard let entry = entries.removeValue(forKey: mark) else { return }
    let others = (paths[entry.path] ?? 1) - 1
    paths[entry.path] = others > 0 ? others : nil
    total.items -= 1
    // Sums are clamped, since another device tells of sizes.
    total.bytes = total.bytes.subtractingClamped(entry.size)
    digest &-= mark
  }
}
