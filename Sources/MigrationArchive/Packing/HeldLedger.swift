import MigrationSystem
import MigrationWire

/// The receiver's ledger, for lookups by several readers.
final class HeldLedger: Sendable {
  /// Whether the ledger is empty.
  let isEmpty: Bool
  /// Whether the destination has entries whose items need not, or must not, be sent.
  let hasNames: Bool
  private let items: Condition<HeldItems>

  init(_ items: HeldItems) {
    isEmpty = items.isEmpty
    hasNames = items.hasNames
    self.items = Condition(items)
  }

  /// Whether the receiver holds this item; if so, the item counts as still existing at the source.
  func take(_ mark: Mark) -> Bool { items.withLock { $0.take(mark) } }
  func isPresent(_ mark: Mark) -> Bool { items.withLock { $0.isPresent(mark) } }
  func isTaken(_ mark: Mark) -> Bool { items.withLock { $0.isTaken(mark) } }

  func ranges(of path: ArchivePath, _ generation: Generation) -> ByteRanges {
    items.withLock { $0.ranges(of: path, generation) }
  }

  func forgetPart(of path: ArchivePath) { items.withLock { $0.forgetPart(of: path) } }

  var stale: [Mark] { items.withLock { $0.stale } }
}
