package import MigrationSystem
package import MigrationWire

extension DirectoryDisk: ImportDestination {
  package func occupant(ofStaged path: ArchivePath) throws(SystemError) -> ExistingEntry? {
    do {
      return try Self.occupant(path.name, in: Self.directory(of: path, in: tree))
    } catch  where error.isNotFound || error.isNotDirectory {
      // The parent directory no longer exists.
      return nil
    }
  }

  package func occupant(at target: ArchivePath) throws(SystemError) -> ExistingEntry? {
    try Self.occupant(target.name, in: arrival(of: target))
  }

  private static func occupant(_ name: ArraySlice<UInt8>, in directory: SharedDirectory) throws(SystemError)
    -> ExistingEntry?
  {
    do {
      let (status, mount) = try directory.directory.mountedStatus(name)
      return ExistingEntry(status, on: mount)
    } catch  where error.isNotFound {
      return nil
    }
  }

  package func makeParent(of target: ArchivePath) throws(SystemError) {
    guard let above = target.parent else { return }
    try parent.directory.makeDirectories(above.bytes, mode: 0o777)
  }

  package func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try rename(path, to: target, noReplace: true)
  }

  package func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try rename(path, to: target, noReplace: false)
  }

  package func exchange(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    let from = try Self.directory(of: path, in: tree)
    noteChange(at: target)
    try from.directory.exchange(path.name, with: arrival(of: target).directory, target.name)
  }

  private func rename(_ path: ArchivePath, to target: ArchivePath, noReplace: Bool) throws(SystemError) {
    let from = try Self.directory(of: path, in: tree)
    noteChange(at: target)
    try from.directory.rename(
      path.name, to: arrival(of: target).directory, as: target.name, noReplace: noReplace)
  }

  package func rename(_ target: ArchivePath, to name: ArchivePath) throws(SystemError) {
    noteChange(at: target)
    try arrival(of: target).directory.renameAmongOwn(
      target.name, to: try arrival(of: name).directory, as: name.name)
  }

  package func takeBack(_ target: ArchivePath, to path: ArchivePath) throws(SystemError) {
    noteChange(at: target)
    try arrival(of: target).directory.renameAmongOwn(
      target.name, to: try Self.directory(of: path, in: tree).directory, as: path.name)
  }

  package func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    let from = try Self.directory(of: path, in: tree)
    noteChange(at: target)
    try from.directory.makeHardLink(
      path.name, in: arrival(of: target).directory, as: target.name)
  }

  package func createPlaceholder(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> ExistingEntry {
    noteChange(at: target)
    let directory = try arrival(of: target)
    guard isDirectory else { return ExistingEntry(try directory.directory.createFile(target.name).status()) }
    try directory.directory.makeDirectory(target.name)
    return ExistingEntry(try directory.directory.status(target.name))
  }

  package func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) {
    let directory = try arrival(of: target)
    if isDirectory {
      try directory.directory.removeDirectory(target.name)
    } else {
      try directory.directory.remove(target.name)
    }
  }

  package func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]? {
    // One handle serves one iteration at a time, and no other code lists the destination now.
    let place = try directory.map { (path) throws(SystemError) in try arrival(path) } ?? parent
    return try place.directory.names()
  }

  package func open(staged path: ArchivePath) throws(SystemError) -> any StagedFile {
    DiskFile(try Self.directory(of: path, in: tree).directory.openChildDirectory(path.name).release())
  }

  package func open(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    // Its metadata is about to be set.
    noteChange(at: target, itself: true)
    let directory = try arrival(of: target).directory.openChildDirectory(target.name)
    try check(target, directory, seen)
    return DiskFile(directory.release())
  }

  package func open(file target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    noteChange(at: target, itself: true)
    let file = try arrival(of: target).directory.openChild(target.name)
    guard try ExistingEntry(file.status()).isSame(as: seen) else {
      throw SystemError(
        reason: "another program has put a file in its place", operation: "open", subject: target.bytes.escapedText)
    }
    return DiskFile(file)
  }

  package func openBase(_ target: ArchivePath) throws(SystemError) -> DiskFile {
    DiskFile(try Self.directory(of: target, in: parent).directory.openChild(target.name))
  }

  package func enter(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) {
    let directory = try parent.directory.openDirectoryBeneath(target.bytes)
    try check(target, directory, seen)
    let shared = SharedDirectory(directory)
    entered.withLock { $0 = (target, shared) }
  }

  private func check(
    _ target: ArchivePath, _ directory: borrowing Directory, _ seen: ExistingEntry
  ) throws(SystemError) {
    guard abilities.tellsEntriesApart, !ExistingEntry(try directory.status()).hasInode(of: seen) else { return }
    throw SystemError(
      reason: "another program has put a directory in its place", operation: "open", subject: target.bytes.escapedText)
  }

  /// The directory at the destination that contains an entry.
  func arrival(of target: ArchivePath) throws(SystemError) -> SharedDirectory {
    try target.parent.map { (path) throws(SystemError) in try arrival(path) } ?? parent
  }

  private func arrival(_ path: ArchivePath) throws(SystemError) -> SharedDirectory {
    if let entered = entered.withLock({ $0?.path == path ? $0?.directory : nil }) { return entered }
    return SharedDirectory(try parent.directory.openDirectoryBeneath(path.bytes))
  }

  static func directory(of path: ArchivePath, in root: SharedDirectory) throws(SystemError) -> SharedDirectory {
    guard let parent = path.parent else { return root }
    return SharedDirectory(try root.directory.openDirectoryBeneath(parent.bytes))
  }
}

extension ExistingEntry {
  init(_ status: FileStatus, on mount: MountIdentity? = nil) {
    self.init(
      kind: status.kind, mode: status.mode, device: status.device, inode: status.inode,
      size: status.kind == .regular ? UInt64(clamping: status.size) : 0, modified: status.modified,
      changed: status.changed, owner: ItemRecord.Owner(user: status.owner, group: status.group),
      mount: mount)
  }
}

extension DirectoryDisk {
  private static let block = 1 << 20

  package func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool {
    let (from, to) = (try Self.directory(of: path, in: tree), try arrival(of: target))
    let (staged, there) = (try from.directory.status(path.name), try to.directory.status(target.name))
    guard staged.kind == there.kind, staged.modified == there.modified, staged.size == there.size else { return false }
    switch staged.kind {
    case .regular:
      return try Self.isEqual(
        try from.directory.openChild(path.name), try to.directory.openChild(target.name))
    case .symbolicLink:
      return try from.directory.readLink(path.name) == to.directory.readLink(target.name)
    case .directory, .fifo, .socket, .blockDevice, .characterDevice:
      return false
    }
  }

  package func isPresent(_ path: ArchivePath, at target: ArchivePath, timeGranularity: UInt32) -> Bool {
    do {
      let (from, to) = (try Self.directory(of: path, in: tree), try arrival(of: target))
      let (staged, there) = (try from.directory.status(path.name), try to.directory.status(target.name))
      switch (staged.kind, there.kind) {
      case (.regular, .regular):
        let times = [staged, there].map { ItemTime($0.modified).rounded(to: timeGranularity) }
        return staged.size == there.size && times[0] == times[1]
      case (.symbolicLink, .symbolicLink):
        return try from.directory.readLink(path.name) == to.directory.readLink(target.name)
      default: return false
      }
    } catch {
      return false
    }
  }

  package func digest(of target: ArchivePath) -> [UInt8]? {
    do throws(SystemError) {
      let file = DiskFile(try arrival(of: target).directory.openChild(target.name))
      return try ContentSum.read(file)?.bytes
    } catch {
      return nil
    }
  }

  private static func isEqual(_ one: borrowing Descriptor, _ other: borrowing Descriptor) throws(SystemError) -> Bool {
    var (left, right) = ([UInt8](repeating: 0, count: block), [UInt8](repeating: 0, count: block))
    var position: Int64 = 0
    while true {
      let count = try one.readFully(at: position, into: &left)
      guard try other.readFully(at: position, into: &right) == count, left[..<count] == right[..<count] else {
        return false
      }
      if count < block { return true }
      position += Int64(count)
    }
  }
}
