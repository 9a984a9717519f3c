package import MigrationSystem
package import MigrationWire

/// A staging directory on a real file system: `tree` with every item in its final place, and
/// `journal` next to it.
///
/// The directory is held open from its creation to its end. Other users may be able to rename
/// entries of the directory that contains it, so its name counts only while it leads to the
/// directory that is held.
package final class DirectoryDisk: StagingDisk {
  package let name: [UInt8]
  package let journal: any StagedFile
  /// The directory that contains the staging directory, and that the roots are moved to.
  let parent: SharedDirectory
  let tree: SharedDirectory
  /// Whether the directory had no `tree` when it was opened.
  let hadNoTree: Bool
  let own: Directory
  private let probed = Mutex<DiskAbilities?>(nil)
  /// The names that were tried, where the file system does not keep every one.
  private let tried = Mutex<[[UInt8]: NotStored.Reason?]>([:])
  private static let mostTried = 10_000
  /// The directory at the destination that the import has entered.
  let entered = Mutex<(path: ArchivePath, directory: SharedDirectory)?>(nil)
  package let syncsEach: Bool
  /// The folders of the destination in which names have changed since the last sync, if each item
  /// is synced; nil is the destination itself.
  let changedFolders = Mutex<Set<ArchivePath?>>([])

  static let journalName = Array("journal".utf8)
  static let treeName = Array("tree".utf8)

  private init(
    _ name: [UInt8], in parent: SharedDirectory, _ own: consuming Directory, journal: consuming Descriptor
  ) throws(SystemError) {
    self.name = name
    self.parent = parent
    self.journal = DiskFile(journal)
    // Staged items must not inherit the default access list of the parent.
    try own.descriptor.clearExtendedMetadata()
    do {
      try own.makeDirectory(Self.treeName, mode: 0o700)
      hadNoTree = true
    } catch  where error.isAlreadyExisting {
      hadNoTree = false
    }
    tree = SharedDirectory(try own.openChildDirectory(Self.treeName))
    self.own = own
    syncsEach = !FileSystemSync.reachesData(of: tree.directory.descriptor)
  }

  /// Creates the staging directory, private, with an empty journal; EEXIST if the name is taken. A
  /// directory that a kill has left empty counts as created. With `abilities`, nothing is probed.
  package convenience init(
    making name: [UInt8], in parent: SharedDirectory, knowing abilities: DiskAbilities? = nil
  ) throws(SystemError) {
    var isNew = true
    do {
      try parent.directory.makeDirectory(name, mode: 0o700)
    } catch  where error.isAlreadyExisting {
      isNew = false
    }
    do throws(SystemError) {
      guard let own = try Self.open(name, in: parent), try Self.isUnused(own) else {
        throw SystemError(alreadyExisting: "create")
      }
      // Another user may have put them there.
      try own.removeContents(last: Self.journalName)
      try own.descriptor.clearExtendedMetadata()
      // A power loss must not leave a tree with items beside no journal: nothing would show whose they are.
      let journal = try own.openOrCreateFile(Self.journalName)
      try own.makeDirectory(Self.treeName, mode: 0o700)
      guard try Self.isPrivate(own, like: journal) else {
        try own.removeContents(last: Self.journalName)
        throw SystemError(alreadyExisting: "create")
      }
      try self.init(name, in: parent, own, journal: journal)
      if let abilities { probed.withLock { $0 = abilities } }
    } catch {
      // A directory of another user takes the name, and nothing more.
      throw !isNew && error.isPermissionDenied ? SystemError(alreadyExisting: "create") : error
    }
  }

  /// Opens the staging directory of an earlier run; nil unless it is private and its journal begins
  /// with this transfer's first record. A kill or a power loss right after it was made may have
  /// left only a part of it: the missing part is made.
  package static func find(
    _ name: [UInt8], in parent: SharedDirectory, of transfer: TransferID, key: UInt128
  ) throws(SystemError) -> DirectoryDisk? {
    guard let own = try open(name, in: parent) else { return nil }
    do throws(SystemError) {
      let journal = try own.openChild(journalName, .readWrite)
      guard try isPrivate(own, like: journal) else { return nil }
      let file = DiskFile(try journal.duplicate())
      var reader = JournalFile.Reader(file, key: key, end: try file.size(), block: 4096)
      guard case .record(.opened(transfer), 0) = try reader.next() else { return nil }
      return try DirectoryDisk(name, in: parent, own, journal: journal)
    } catch {
      let isOfAnother =
        error.isNotFound || error.isNotDirectory || error.isDirectory || error.isSymbolicLink
        || error.isPermissionDenied
      if isOfAnother { return nil }
      throw error
    }
  }

  package func places() -> any StagingTree {
    DirectoryTree(tree: tree, foldsNames: abilities.foldsNames)
  }

  /// Probed once, at the first request.
  package var abilities: DiskAbilities {
    probed.withLock { probed in
      if let probed { return probed }
      let abilities = DiskProbe.run(in: own)
      probed = abilities
      return abilities
    }
  }

  package func refusal(ofName name: [UInt8]) -> NotStored.Reason? {
    if abilities.keepsPlainNames, DiskProbe.isPlain(name) { return nil }
    return tried.withLock { tried in
      if let known = tried[name] { return known }
      if tried.count >= Self.mostTried { tried = [:] }
      let (refusal, isSure) = DiskProbe.refusal(of: name, in: own)
      if isSure { tried[name] = .some(refusal) }
      return refusal
    }
  }

  package func space() -> FileSystemSpace? { try? FileSystemSpace.of(tree.directory.descriptor) }

  package var destination: (any ImportDestination)? { self }

  /// The journal goes last: a directory whose removal was interrupted is still known by it.
  package func remove() throws(SystemError) {
    let isKnown = abilities.tellsEntriesApart
    // NFS and CIFS do not remove files that are still open. Descriptors that cannot be closed stay
    // open until the process ends.
    (journal as? DiskFile)?.letGo()
    try? tree.directory.descriptor.letGo()
    try own.removeContents(last: Self.journalName)
    let status = try own.status()
    guard let there = try? parent.directory.status(name), !isKnown || there.isSame(as: status) else {
      throw SystemError(
        reason: "it was moved away by another program; it was emptied", operation: "remove", subject: name.escapedText)
    }
    try? own.descriptor.letGo()
    try parent.directory.removeDirectory(name)
    try parent.directory.synchronize()
  }
}

/// An open file or directory of a real file system.
package final class DiskFile: StagedFile {
  private let descriptor: Descriptor

  /// Takes ownership of a descriptor.
  package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Closes the file for all users of it.
  func letGo() { try? descriptor.letGo() }

  package func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
    try descriptor.write(at: Int64(offset), bytes)
  }

  package func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try descriptor.readFully(at: Int64(offset), into: &memory)
  }

  package func forgetCached() { descriptor.adviseUnneeded() }

  package func size() throws(SystemError) -> UInt64 { UInt64(try descriptor.status().size) }

  /// XFS gives a growing file up to as many bytes again; other file systems round to blocks.
  package func reserved() -> UInt64 {
    guard let status = try? descriptor.status(), status.allocatedBytes - status.size > 1 << 20 else { return 0 }
    return UInt64(status.allocatedBytes - status.size)
  }

  package func truncate(to size: UInt64) throws(SystemError) { try descriptor.truncate(to: Int64(size)) }

  package func clear(_ range: Range<UInt64>) throws(SystemError) {
    // The bytes behind the end are zeros already.
    let end = min(range.upperBound, try size())
    if range.lowerBound < end { try descriptor.clear(Int64(range.lowerBound)..<Int64(end)) }
  }

  package func copy(_ range: Range<UInt64>, from other: any StagedFile) throws(SystemError) {
    guard let other = other as? DiskFile else { return try copyByReading(range, from: other) }
    let range = Int64(range.lowerBound)..<Int64(range.upperBound)
    let tellsHoles = (try? other.descriptor.fileSystem()).map { SourceFileSystem.tellHoles.contains($0.type) } ?? false
    var position = range.lowerBound
    do {
      if !tellsHoles { return try other.descriptor.copy(range, to: descriptor) }
      while position < range.upperBound {
        let data = try min(range.upperBound, other.descriptor.nextData(from: position) ?? range.upperBound)
        if data > position { try clear(UInt64(position)..<UInt64(data)) }
        guard data < range.upperBound else { return }
        let end = try min(range.upperBound, other.descriptor.nextHole(from: data) ?? range.upperBound)
        try other.descriptor.copy(data..<end, to: descriptor)
        position = end
      }
    } catch  where error.isCopyRefused {
      try copyByReading(UInt64(range.lowerBound)..<UInt64(range.upperBound), from: other)
    }
  }

  package func setMode(_ mode: UInt32) throws(SystemError) { try descriptor.setMode(mode) }

  package func setOwner(_ owner: ItemRecord.Owner) throws(SystemError) {
    try descriptor.setOwner(user: owner.user, group: owner.group)
  }

  package func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError) {
    try descriptor.setAttribute(attribute.name, attribute.value)
  }

  package func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try descriptor.setAccessList(list, kind)
  }

  package func clearExtendedMetadata() throws(SystemError) { try descriptor.clearExtendedMetadata() }

  /// The file as an entry, wherever its name leads.
  func entry() throws(SystemError) -> ExistingEntry { ExistingEntry(try descriptor.status()) }

  func extendedMetadata() throws(SystemError) -> ExtendedMetadata { try ExtendedMetadata(of: descriptor) }

  package func setTimes(modified: Timestamp) throws(SystemError) { try descriptor.setTimes(modified: modified) }

  package func synchronize() throws(SystemError) { try descriptor.synchronizeData() }

  /// Returns when content and metadata are durable.
  func synchronizeWhole() throws(SystemError) { try descriptor.synchronize() }
}
