import MigrationSystem
import MigrationWire

/// The metadata of a record that staging keeps, and the metadata that it counts as lost.
extension Staging {
  /// The permissions of an item: without set-id bits unless the user wants them, and the default
  /// permissions if the record has none.
  func mode(of record: ItemRecord) -> UInt32 {
    let standard: UInt32 = record.kind == .directory ? 0o777 : 0o666
    guard let mode = record.mode else { return standard & ~umask }
    // An app's importer moves directories, and only root can move a directory that its owner may
    // not write to.
    let kept: UInt32 = preserved.setIDBits ? 0o7777 : 0o1777
    return UInt32(mode) & kept | (roots == nil && record.kind == .directory ? 0o700 : 0)
  }

  /// Whether creating a file with its mode and setting its time is sufficient.
  func isPlain(_ record: ItemRecord) -> Bool { !record.isExtended && mode(of: record) & 0o6000 == 0 }

  /// Gives a complete file its length, permissions, time and other metadata.
  func settle(_ file: any StagedFile, _ record: ItemRecord) throws(ArchiveError) {
    do {
      // A hole at the end needs only the length.
      try file.truncate(to: record.size)
      setExtended(of: file, record)
      try keepMode { () throws(SystemError) in try file.setMode(mode(of: record)) }
    } catch {
      throw ArchiveError("writing", record.path, error)
    }
    setTime(of: file, record)
  }

  /// Sets the metadata that must be set before the mode: attributes need write permission, and a
  /// change of the owner clears set-id bits. Metadata that the file system cannot hold is counted,
  /// once per item.
  func setExtended(of file: any StagedFile, _ record: ItemRecord) {
    if !record.attributes.isEmpty {
      keep(.attribute) { () throws(SystemError) in
        try record.attributes.forEachTried { (attribute) throws(SystemError) in try file.setAttribute(attribute) }
      }
    }
    if let owner = record.owner, preserved.owners {
      keep(.owner) { () throws(SystemError) in try file.setOwner(owner) }
    }
    guard !record.accessList.isEmpty || !record.defaultAccessList.isEmpty else { return }
    keep(.accessList) { () throws(SystemError) in
      if !record.defaultAccessList.isEmpty { try file.setAccessList(record.defaultAccessList, .default) }
      if !record.accessList.isEmpty { try file.setAccessList(record.accessList, .access) }
    }
  }

  /// The same for a directory. A root's access list is set, with its mode, when the root is moved.
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

  /// Sets the owner of an item other than a file, if the user wants owners.
  func setOwner(in places: any StagingPlaces, _ record: ItemRecord) {
    guard let owner = record.owner, preserved.owners else { return }
    keep(.owner) { () throws(SystemError) in try places.setOwner(record.path, owner) }
  }

  /// Sets metadata without which the item is still useful; a failure is counted.
  func keep(_ kind: Done.Loss.Kind, _ body: () throws(SystemError) -> Void) {
    do {
      try body()
    } catch {
      // Permissions that this file system cannot keep are counted with the record.
      if kind != .mode || abilities.fixedRights == nil { lost(kind) }
    }
  }

  /// Sets permissions. If the file system has no permissions of this kind, that is counted; any
  /// other failure is thrown.
  func keepMode(_ body: () throws(SystemError) -> Void) throws(SystemError) {
    do {
      try body()
    } catch {
      guard error.isPermissionDenied || error.isUnsupported else { throw error }
      // Permissions that this file system cannot keep are counted with the record.
      if abilities.fixedRights == nil { lost(.mode) }
    }
  }

  /// Sets a file's time; a time that the file system cannot hold is counted.
  func setTime(of file: any StagedFile, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try file.setTimes(modified: Timestamp(modified))
    } catch {
      if keeps(modified) { lost(.time) }
    }
  }

  /// Sets the time of an item other than a file; a time that the file system cannot hold is
  /// counted.
  func setTime(in places: any StagingPlaces, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try places.setTimes(record.path, modified: Timestamp(modified))
    } catch {
      if keeps(modified) { lost(.time) }
    }
  }

  /// Counts an item that has been created, and the metadata of its record that is never kept.
  func finish(_ record: ItemRecord) throws(Violation) {
    try shared.withLock { (shared) throws(Violation) in try shared.ledger.finish(record) }
    countLosses(of: record)
  }

  /// Stores the journal positions of items that are created at the end.
  func place(_ items: [(record: ItemRecord, position: UInt64)]) {
    guard !items.isEmpty else { return }
    shared.withLock { shared in
      for (record, position) in items { shared.ledger.place(record, at: position) }
    }
  }

  /// Whether the file system keeps a time unchanged.
  private func keeps(_ time: ItemTime) -> Bool {
    abilities.keepsTimes && time.rounded(to: abilities.timeGranularity) == time
  }

  /// Counts the parts of a record that are not kept because the user does not ask for them, or
  /// because the file system accepts them and stores another value.
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
  /// Calls the closure for each element, even after a failure; then throws the first failure.
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
