import MigrationWire

/// Items that the sender leaves out because the receiver has reported that the destination cannot
/// hold them (Protocol §6.3).
extension FramePacker {
  /// Leaves an item out if its record shows that the destination cannot hold it; false otherwise.
  func withhold(_ record: ItemRecord) -> Bool {
    guard !traits.refusesNothing, let lack = traits.lack(for: record) else { return false }
    withhold(record.path, lack, size: record.size)
    return true
  }

  /// Leaves an item out because the destination lacks an ability for it, and reports the item.
  func withhold(_ path: ArchivePath, _ lack: DestinationTraits.Lack, size: UInt64) {
    sum.withheld += 1
    listener.unsent(Unsent(path: path, notStorable: lack.reason))
    listener.skipped(items: 1, bytes: size)
  }
}
