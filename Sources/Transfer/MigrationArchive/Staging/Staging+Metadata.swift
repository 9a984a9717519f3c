import MigrationSystem
import MigrationWire

/// The metadata of staged items, as far as this device's user wants it and the file system keeps it.
extension Staging {
  func setMetadata(of record: ItemRecord, in places: any StagingTree) throws(Failure) {
    let isRoot = record.path.parent == nil && roots != nil
    let kept = setExtended(in: places, record, isRoot: isRoot)
    setTime(in: places, record)
    guard !isRoot else { return }
    do throws(SystemError) {
      // If a directory was replaced by another type, its file system is not the cause.
      guard try places.kind(of: record.path) == .directory else { throw SystemError(notADirectory: "chmod") }
      try keepMode { () throws(SystemError) in try places.setMode(record.path, mode(of: record, kept)) }
    } catch {
      throw Failure("setting the rights of", record.path, error)
    }
  }

  /// Whether an item has the parts of its record on which its permissions depend.
  struct Kept {
    var owner = true
    var accessList = true
  }

  /// The permissions of an item, and the default permissions if the record has none.
  ///
  /// Set-id bits need the owner that they were set for. Without its access list, the group has only
  /// the permissions of its own entry: the mode's group bits were the mask.
  func mode(of record: ItemRecord, _ kept: Kept = Kept()) -> UInt32 {
    let standard: UInt32 = record.kind == .directory ? 0o777 : 0o666
    guard let mode = record.mode else { return standard & ~umask }
    // An app's importer moves directories, and only root can move a directory that its owner may
    // not write to.
    var allowed: UInt32 = keepsSetIDBits(of: record) && kept.owner ? 0o7777 : 0o1777
    if !kept.accessList || accessList(of: record).isEmpty,
      let group = record.accessList.first(where: { $0.subject == .groupOwner })
    {
      allowed &= ~0o070 | UInt32(group.permissions) << 3
    }
    return UInt32(mode) & allowed | (roots == nil && record.kind == .directory ? 0o700 : 0)
  }

  /// Whether both users have asked for the numbers of users and groups.
  private func keepsNumbers(of record: ItemRecord) -> Bool { preserved.owners && record.owner != nil }

  private func keepsSetIDBits(of record: ItemRecord) -> Bool { preserved.setIDBits && keepsNumbers(of: record) }

  /// The access list that an item gets: none if it has entries that are not kept.
  func accessList(of record: ItemRecord) -> [AccessEntry] {
    keepsEntries(of: record, record.accessList) ? owners.list(record.accessList, of: record) : []
  }

  private func keepsEntries(of record: ItemRecord, _ list: [AccessEntry]) -> Bool {
    keepsNumbers(of: record) || !list.contains(where: \.isNumbered)
  }

  /// Gives a complete file its length, permissions, time and other metadata.
  func settle(_ file: any StagedFile, _ record: ItemRecord) throws(Failure) {
    do {
      // A hole at the end needs only the length.
      try file.truncate(to: record.size)
      let kept = setExtended(of: file, record)
      try keepMode { () throws(SystemError) in try file.setMode(mode(of: record, kept)) }
    } catch {
      throw Failure("writing", record.path, error)
    }
    setTime(of: file, record)
  }

  /// Sets the metadata that must be set before the mode: attributes need write permission, and a
  /// change of the owner clears set-id bits. Metadata that the file system cannot hold is counted,
  /// once per item.
  func setExtended(of file: any StagedFile, _ record: ItemRecord) -> Kept {
    var kept = setOwnMetadata(of: file, record)
    let list = accessList(of: record)
    if !list.isEmpty {
      kept.accessList = keep(.accessList) { () throws(SystemError) in try file.setAccessList(list, .access) }
    }
    return kept
  }

  /// Sets the metadata of an open file or directory except its access lists.
  func setOwnMetadata(of file: any StagedFile, _ record: ItemRecord) -> Kept {
    if !record.attributes.isEmpty {
      keep(.attribute) { () throws(SystemError) in
        try record.attributes.forEachTried { (attribute) throws(SystemError) in try file.setAttribute(attribute) }
      }
    }
    return Kept(owner: keepOwner(of: record) { (owner) throws(SystemError) in try file.setOwner(owner) })
  }

  /// The same for a directory. A root's access list is set, with its mode, when the root is moved.
  @discardableResult
  func setExtended(in places: any StagingTree, _ record: ItemRecord, isRoot: Bool) -> Kept {
    let path = record.path
    if !record.attributes.isEmpty {
      keep(.attribute) { () throws(SystemError) in
        try record.attributes.forEachTried { (attribute) throws(SystemError) in try places.setAttribute(path, attribute)
        }
      }
    }
    var kept = Kept(owner: setOwner(in: places, record))
    let accessList = isRoot ? [] : accessList(of: record)
    let defaultList =
      keepsNumbers(of: record)
      ? owners.list(record.defaultAccessList, of: record) : record.defaultAccessList.filter { !$0.isNumbered }
    guard !accessList.isEmpty || !defaultList.isEmpty else { return kept }
    kept.accessList = keep(.accessList) { () throws(SystemError) in
      if !defaultList.isEmpty { try places.setAccessList(record.path, defaultList, .default) }
      if !accessList.isEmpty { try places.setAccessList(record.path, accessList, .access) }
    }
    return kept
  }

  /// Sets the owner of an item other than a file, if the user wants owners.
  @discardableResult
  func setOwner(in places: any StagingTree, _ record: ItemRecord) -> Bool {
    keepOwner(of: record) { (owner) throws(SystemError) in try places.setOwner(record.path, owner) }
  }

  /// Sets the owner if the user wants owners. Without it, the item loses its set-id bits too.
  private func keepOwner(
    of record: ItemRecord, _ body: (ItemRecord.Owner) throws(SystemError) -> Void
  ) -> Bool {
    guard preserved.owners, let owner = owners.owner(of: record) else { return false }
    let isKept = keep(.owner) { () throws(SystemError) in try body(owner) }
    if !isKept, mode(of: record) & 0o6000 != 0 { lost(.setIDBit) }
    return isKept
  }

  /// Sets metadata without which the item is still useful; a failure is counted.
  @discardableResult
  func keep(_ kind: Done.Loss.Kind, _ body: () throws(SystemError) -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      // Permissions that this file system cannot keep are counted with the record.
      if kind != .mode || abilities.fixedRights == nil { lost(kind) }
      return false
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
  func setTime(in places: any StagingTree, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try places.setTimes(record.path, modified: Timestamp(modified))
    } catch {
      if keeps(modified) { lost(.time) }
    }
  }

  /// Whether the file system keeps a time unchanged.
  private func keeps(_ time: ItemTime) -> Bool {
    abilities.keepsTimes && abilities.traits.kept(time) == time
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
    if let mode = record.mode, mode & 0o6000 != 0, !keepsSetIDBits(of: record) { lost(.setIDBit) }
    if record.owner != nil {
      if preserved.owners { shared.withFigures { $0.hasOwners = true } } else { lost(.owner) }
      if preserved.owners, !owners.knowsAll(of: record) { lost(.ownerName) }
    }
    if !keepsEntries(of: record, record.accessList + record.defaultAccessList) { lost(.accessList) }
  }
}

extension AccessEntry {
  fileprivate var isNumbered: Bool { subject == .user || subject == .group }
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
