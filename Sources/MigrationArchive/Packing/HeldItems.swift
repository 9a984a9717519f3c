import MigrationSystem
package import MigrationWire

/// The receiver's ledger as reported to the sender: the content that need not be sent again.
package struct HeldItems: Sendable {
  private var staged: [Mark] = []
  private var isCurrent: [Bool] = []
  /// The marks of the other kinds.
  private var others: [Held.Kind: [Mark]] = [:]
  /// For each of these marks, whether an item of the source has it; empty if the receiver does not ask.
  private var isMet: [Held.Kind: [Bool]] = [:]
  private var partials: [ArchivePath: Partial] = [:]

  package init() {}

  package var isEmpty: Bool { staged.isEmpty && partials.isEmpty && !hasNames }

  /// Whether the destination has entries whose items need not, or must not, be sent.
  var hasNames: Bool { others.keys.contains { $0 != .base } }

  /// Whether the destination has files that may be bases of newer versions.
  var hasBases: Bool { others[.base] != nil }

  /// Adds a page; pages come in ascending order.
  package mutating func add(_ page: Held) {
    switch page.kind {
    case .staged:
      staged += page.marks
      isCurrent += [Bool](repeating: false, count: page.marks.count)
    case .present, .taken, .removed, .arrived, .state, .content, .base: others[page.kind, default: []] += page.marks
    }
  }

  package mutating func add(_ partial: Partial) { partials[partial.path] = partial }

  /// Whether the receiver holds this item; if so, the item counts as still existing at the source.
  package mutating func take(_ mark: Mark) -> Bool {
    guard let index = Self.index(of: mark, in: staged) else { return false }
    isCurrent[index] = true
    return true
  }

  /// Whether there is a mark of this kind, other than the marks of staged items.
  package mutating func has(_ mark: Mark, _ kind: Held.Kind) -> Bool {
    guard let marks = others[kind], let index = Self.index(of: mark, in: marks) else { return false }
    isMet[kind]?[index] = true
    return true
  }

  /// Whether the destination has this file or link already.
  package mutating func isPresent(_ mark: Mark) -> Bool { has(mark, .present) }

  /// From now on, `stale` also has the items that the destination has or had, and that the source has not.
  package mutating func nameAbsent() {
    for kind in [Held.Kind.present, .removed, .arrived] {
      isMet[kind] = [Bool](repeating: false, count: others[kind]?.count ?? 0)
    }
  }

  /// The ranges of this generation of a file that the receiver has.
  package func ranges(of path: ArchivePath, _ generation: Generation) -> ByteRanges {
    guard let partial = partials[path], partial.generation == generation else { return ByteRanges() }
    return partial.ranges
  }

  /// Records that the receiver has discarded its part of a file.
  mutating func forgetPart(of path: ArchivePath) { partials[path] = nil }

  /// The held items that were not taken: they no longer exist at the source.
  package var stale: [Mark] {
    var stale = staged.indices.lazy.filter { !isCurrent[$0] }.map { staged[$0] } as [Mark]
    guard !isMet.isEmpty else { return stale }
    for (kind, isMet) in isMet {
      for (mark, isMet) in zip(others[kind] ?? [], isMet) where !isMet { stale.append(mark) }
    }
    stale.sort()
    return stale
  }

  private static func index(of mark: Mark, in marks: [Mark]) -> Int? {
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if marks[middle] < mark { low = middle + 1 } else { high = middle }
    }
    return low < marks.count && marks[low] == mark ? low : nil
  }

  /// The receiver's ledger, for lookups by several readers.
  final class Lookup: Sendable {
    /// Whether the ledger is empty.
    let isEmpty: Bool
    /// Whether the destination has entries whose items need not, or must not, be sent.
    let hasNames: Bool
    /// Whether it has files that may be bases of newer versions.
    let hasBases: Bool
    private let items: Condition<HeldItems>

    init(_ items: HeldItems) {
      isEmpty = items.isEmpty
      hasNames = items.hasNames
      hasBases = items.hasBases
      self.items = Condition(items)
    }

    /// Whether the receiver holds this item; if so, the item counts as still existing at the source.
    func take(_ mark: Mark) -> Bool { items.withLock { $0.take(mark) } }
    func isPresent(_ mark: Mark) -> Bool { has(mark, .present) }
    func isTaken(_ mark: Mark) -> Bool { has(mark, .taken) }
    func isRemoved(_ mark: Mark) -> Bool { has(mark, .removed) }
    func has(_ mark: Mark, _ kind: Held.Kind) -> Bool { items.withLock { $0.has(mark, kind) } }

    func ranges(of path: ArchivePath, _ generation: Generation) -> ByteRanges {
      items.withLock { $0.ranges(of: path, generation) }
    }

    func forgetPart(of path: ArchivePath) { items.withLock { $0.forgetPart(of: path) } }

    var stale: [Mark] { items.withLock { $0.stale } }
  }
}
