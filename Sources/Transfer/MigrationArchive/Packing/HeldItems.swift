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
    guard let index = staged.place(of: mark) else { return false }
    isCurrent[index] = true
    return true
  }

  /// From now on, `stale` also has the items that the destination has or had, and that the source has not.
  package mutating func nameAbsent() {
    for kind in Self.asked { isMet[kind] = others[kind].map { [Bool](repeating: false, count: $0.count) } }
  }

  /// The kinds of the marks that the receiver asks for.
  private static let asked: [Held.Kind] = [.present, .removed, .arrived]

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
    for kind in Self.asked {
      for (mark, isMet) in zip(others[kind] ?? [], isMet[kind] ?? []) where !isMet { stale.append(mark) }
    }
    stale.sort()
    return stale
  }

  /// The receiver's ledger, for lookups by several readers.
  final class Lookup: Sendable {
    /// Whether the ledger is empty.
    let isEmpty: Bool
    /// Whether the destination has entries whose items need not, or must not, be sent.
    let hasNames: Bool
    /// Whether the receiver asks which marks no item of the source has.
    private let isAsked: Bool
    /// They do not change, and need no lock.
    private let marks: [Held.Kind: [Mark]]
    private let items: Condition<HeldItems>

    init(_ items: HeldItems) {
      isEmpty = items.isEmpty
      hasNames = items.hasNames
      isAsked = !items.isMet.isEmpty
      marks = items.others
      self.items = Condition(items)
    }

    /// Whether the destination has files that may be bases of newer versions.
    var hasBases: Bool { marks[.base] != nil }

    /// Whether the receiver holds this item; if so, the item counts as still existing at the source.
    func take(_ mark: Mark) -> Bool { items.withLock { $0.take(mark) } }

    /// Whether there is a mark of this kind, other than the marks of staged items.
    func has(_ mark: @autoclosure () -> Mark, _ kind: Held.Kind) -> Bool {
      guard let marks = marks[kind], let place = marks.place(of: mark()) else { return false }
      if isAsked, HeldItems.asked.contains(kind) { items.withLock { $0.isMet[kind]?[place] = true } }
      return true
    }

    func ranges(of path: ArchivePath, _ generation: Generation) -> ByteRanges {
      items.withLock { $0.ranges(of: path, generation) }
    }

    func forgetPart(of path: ArchivePath) { items.withLock { $0.forgetPart(of: path) } }

    var stale: [Mark] { items.withLock { $0.stale } }
  }
}
