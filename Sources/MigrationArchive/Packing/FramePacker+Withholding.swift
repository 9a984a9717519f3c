import MigrationWire

/// Items that are left out, since the destination has said that it cannot hold them (Protocol §6.3).
extension FramePacker {
  /// Leaves an item out if the destination cannot hold it, as far as its record tells; false if it may.
  func withhold(_ record: ItemRecord) -> Bool {
    guard !traits.refusesNothing, let lack = traits.lack(for: record) else { return false }
    withhold(record.path, lack, size: record.size)
    return true
  }

  /// Leaves an item out because of what the destination lacks for it, and names it.
  func withhold(_ path: ArchivePath, _ lack: DestinationTraits.Lack, size: UInt64) {
    sum.withheld += 1
    listener.unsent(Unsent(path: path, notStorable: lack.reason))
    listener.skipped(items: 1, bytes: size)
  }
}
