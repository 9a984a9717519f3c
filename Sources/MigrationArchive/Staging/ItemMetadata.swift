import MigrationSystem
import MigrationWire

/// What of a record's metadata is kept in staging, and what is counted as lost.
extension Staging {
  /// The rights that an item gets: without set-id bits, and default ones where the record has none.
  func mode(of record: ItemRecord) -> UInt32 {
    let standard: UInt32 = record.kind == .directory ? 0o777 : 0o666
    guard let mode = record.mode else { return standard & ~umask }
    // An app's importer moves directories about, which nobody but root can if their owner may not write to them.
    return UInt32(mode) & 0o1777 | (roots == nil && record.kind == .directory ? 0o700 : 0)
  }

  /// Gives a complete file its length, rights and time.
  func settle(_ file: any StagedFile, _ record: ItemRecord) throws(ArchiveError) {
    do {
      // A hole at the end is no more than a length.
      try file.truncate(to: record.size)
      try file.setMode(mode(of: record))
    } catch {
      throw ArchiveError("writing", record.path, error)
    }
    setTime(of: file, record)
  }

  /// Sets a file's time; one that the file system cannot hold is counted.
  func setTime(of file: any StagedFile, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try file.setTimes(modified: Timestamp(modified))
    } catch {
      lost(.time)
    }
  }

  /// Sets the time of something that has no file; one that the file system cannot hold is counted.
  func setTime(in places: any StagingPlaces, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try places.setTimes(record.path, modified: Timestamp(modified))
    } catch {
      lost(.time)
    }
  }
}

extension Staging.Shared {
  /// An item is made: from now on it counts, and so does what of its record is not kept.
  mutating func finish(_ record: ItemRecord) throws(Violation) {
    try ledger.finish(record)
    countLosses(of: record)
  }

  /// Counts what of a record the destination never keeps.
  mutating func countLosses(of record: ItemRecord) {
    if let mode = record.mode, mode & 0o6000 != 0 { losses[.setIDBit, default: 0] += 1 }
    if !record.attributes.isEmpty { losses[.attribute, default: 0] += UInt64(record.attributes.count) }
    if !record.accessList.isEmpty || !record.defaultAccessList.isEmpty { losses[.accessList, default: 0] += 1 }
  }
}
