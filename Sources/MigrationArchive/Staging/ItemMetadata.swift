import MigrationSystem
import MigrationWire

/// What of a record's metadata is kept in staging, and what is counted as lost.
extension Staging {
  /// The rights that an item gets: without set-id bits unless they are wanted, and default ones where the record has none.
  func mode(of record: ItemRecord) -> UInt32 {
    let standard: UInt32 = record.kind == .directory ? 0o777 : 0o666
    guard let mode = record.mode else { return standard & ~umask }
    // An app's importer moves directories about, which nobody but root can if their owner may not write to them.
    let kept: UInt32 = preserved.setIDBits ? 0o7777 : 0o1777
    return UInt32(mode) & kept | (roots == nil && record.kind == .directory ? 0o700 : 0)
  }

  /// Whether a file gets everything by being created with its mode and having its time set.
  func isPlain(_ record: ItemRecord) -> Bool { !record.isExtended && mode(of: record) & 0o6000 == 0 }

  /// Gives a complete file its length, rights, time and whatever else belongs to it.
  func settle(_ file: any StagedFile, _ record: ItemRecord) throws(ArchiveError) {
    do {
      // A hole at the end is no more than a length.
      try file.truncate(to: record.size)
      setExtended(of: file, record)
      try keepMode { () throws(SystemError) in try file.setMode(mode(of: record)) }
    } catch {
      throw ArchiveError("writing", record.path, error)
    }
    setTime(of: file, record)
  }

  /// Sets what the mode must come after: attributes need the right to write, and a new owner costs set-id bits. What the
  /// file system cannot hold is counted, once an item.
  private func setExtended(of file: any StagedFile, _ record: ItemRecord) {
    if !record.attributes.isEmpty {
      keep(.attribute) { () throws(SystemError) in
        try record.attributes.forEachTried { (attribute) throws(SystemError) in try file.setAttribute(attribute) }
      }
    }
    if let owner = record.owner, preserved.owners {
      keep(.owner) { () throws(SystemError) in try file.setOwner(owner) }
    }
    if !record.accessList.isEmpty {
      keep(.accessList) { () throws(SystemError) in try file.setAccessList(record.accessList) }
    }
  }

  /// The same for a directory. A root's access list waits, with its mode, until it is moved.
  func setExtended(in places: any StagingPlaces, _ record: ItemRecord, isRoot: Bool) {
    let path = record.path
    if !record.attributes.isEmpty {
      keep(.attribute) { () throws(SystemError) in
        try record.attributes.forEachTried { (attribute) throws(SystemError) in try places.setAttribute(path, attribute)
        }
      }
    }
    setOwner(in: places, record)
    let accessList = isRoot ? [] : record.accessList
    guard !accessList.isEmpty || !record.defaultAccessList.isEmpty else { return }
    keep(.accessList) { () throws(SystemError) in
      if !record.defaultAccessList.isEmpty { try places.setAccessList(path, record.defaultAccessList, .default) }
      if !accessList.isEmpty { try places.setAccessList(path, accessList, .access) }
    }
  }

  /// Sets the owner of something that has no file, if that is wanted.
  func setOwner(in places: any StagingPlaces, _ record: ItemRecord) {
    guard let owner = record.owner, preserved.owners else { return }
    keep(.owner) { () throws(SystemError) in try places.setOwner(record.path, owner) }
  }

  /// Does something without which the item is still worth having; a failure is counted.
  func keep(_ kind: Done.Loss.Kind, _ body: () throws(SystemError) -> Void) {
    do {
      try body()
    } catch {
      // Rights that nothing has here are counted with the record.
      if kind != .mode || abilities.fixedRights == nil { lost(kind) }
    }
  }

  /// Sets rights; a file system that has none of the kind is counted, and any other failure is one.
  func keepMode(_ body: () throws(SystemError) -> Void) throws(SystemError) {
    do {
      try body()
    } catch {
      guard error.isPermissionDenied || error.isUnsupported else { throw error }
      // Rights that nothing has here are counted with the record.
      if abilities.fixedRights == nil { lost(.mode) }
    }
  }

  /// Sets a file's time; one that the file system cannot hold is counted.
  func setTime(of file: any StagedFile, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try file.setTimes(modified: Timestamp(modified))
    } catch {
      if keeps(modified) { lost(.time) }
    }
  }

  /// Sets the time of something that has no file; one that the file system cannot hold is counted.
  func setTime(in places: any StagingPlaces, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try places.setTimes(record.path, modified: Timestamp(modified))
    } catch {
      if keeps(modified) { lost(.time) }
    }
  }

  /// An item is made: from now on it counts, and so does what of its record is never kept.
  func finish(_ record: ItemRecord) throws(Violation) {
    try shared.withLock { (shared) throws(Violation) in try shared.ledger.finish(record) }
    countLosses(of: record)
  }

  /// The journal tells where items are that wait for the end.
  func place(_ items: [(record: ItemRecord, position: UInt64)]) {
    guard !items.isEmpty else { return }
    shared.withLock { shared in
      for (record, position) in items { shared.ledger.place(record, at: position) }
    }
  }

  /// Whether the file system keeps a time as it is.
  private func keeps(_ time: ItemTime) -> Bool {
    abilities.keepsTimes && time.rounded(to: abilities.timeGranularity) == time
  }

  /// Counts the parts of a record that are not kept because the user does not ask for them, or since the file system takes them
  /// and keeps something else.
  func countLosses(of record: ItemRecord) {
    if let modified = record.modified, !keeps(modified) { lost(.time) }
    if record.mode != nil, let fixed = abilities.fixedRights,
      mode(of: record) != (record.kind == .directory ? fixed.directory : fixed.file)
    {
      lost(.mode)
    }
    if let mode = record.mode, mode & 0o6000 != 0, !preserved.setIDBits { lost(.setIDBit) }
    if record.owner != nil, !preserved.owners { lost(.owner) }
  }
}

extension [ExtendedAttribute] {
  /// Does something with each, also after one that failed; fails with the first failure then.
  fileprivate func forEachTried(_ body: (ExtendedAttribute) throws(SystemError) -> Void) throws(SystemError) {
    var failure: SystemError?
    for attribute in self {
      do {
        try body(attribute)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}
