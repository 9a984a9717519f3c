import MigrationWire

/// An earlier run's record of a transfer, and this process's lock on it, if it has one.
struct RememberedEntry: Sendable {
  let remembered: RememberedTransfer
  /// Nil where another process has it just now, or where it cannot be taken: it is tried again when
  /// its sender comes.
  let entry: TransferEntry?

  /// The entries that can be taken, or must be known in any case; nil where an entry is gone, or
  /// left to the other process.
  static func take(_ remembered: RememberedTransfer, in store: TransferStore?, isKept: Bool) -> RememberedEntry? {
    do {
      guard let entry = try store?.open(remembered.transfer, role: .receiver) else { return nil }
      return RememberedEntry(remembered: entry.remembered, entry: entry)
    } catch {
      return isKept ? RememberedEntry(remembered: remembered, entry: nil) : nil
    }
  }
}
