import MigrationSystem
import MigrationWire

/// The tree of a real staging directory, as used by one thread.
final class DirectoryTree: StagingTree {
  private let tree: SharedDirectory
  /// The mode for new directories, and for directories that this process could not enter otherwise.
  private static let directoryMode: UInt32 = 0o777
  /// Whether the disk treats some different names as equal.
  private let foldsNames: Bool
  /// On such a disk: the directories that are known to have exactly these paths.
  private var exact: Set<ArchivePath> = []
  /// The directory of the last item; the next item usually goes to the same directory.
  private var current: (path: ArchivePath, directory: SharedDirectory)?

  /// Opens a tree. In staging, directories without a record get the default permissions at the end;
  /// until then the staging directory keeps other users out.
  init(tree: SharedDirectory, foldsNames: Bool = false) {
    self.foldsNames = foldsNames
    self.tree = tree
  }

  func createFile(_ path: ArchivePath, mode: UInt32) throws(SystemError) -> any StagedFile {
    DiskFile(try parent(of: path).directory.createFile(path.name, mode: mode))
  }

  func openFile(_ path: ArchivePath) throws(SystemError) -> any StagedFile { try open(path) }

  func openToRead(_ path: ArchivePath) throws(SystemError) -> any StagedFile {
    let parent = try existingParent(of: path)
    do {
      return DiskFile(try parent.directory.openChild(path.name))
    } catch  where error.isPermissionDenied {
      let mode = try parent.directory.status(path.name).mode & 0o7777
      try parent.directory.setMode(path.name, 0o400)
      let file = DiskFile(try parent.directory.openChild(path.name))
      try parent.directory.setMode(path.name, mode)
      return file
    }
  }

  func open(_ path: ArchivePath) throws(SystemError) -> DiskFile {
    let parent = try existingParent(of: path)
    do {
      return DiskFile(try parent.directory.openChild(path.name, .readWrite))
    } catch  where error.isPermissionDenied {
      // The file may already have its final permissions, which may exclude this process.
      try parent.directory.setMode(path.name, 0o600)
      return DiskFile(try parent.directory.openChild(path.name, .readWrite))
    }
  }

  func makeDirectory(_ path: ArchivePath) throws(SystemError) {
    _ = try writable(path)
  }

  func makeSymbolicLink(_ path: ArchivePath, target: [UInt8]) throws(SystemError) {
    try parent(of: path).directory.makeSymbolicLink(path.name, target: target)
  }

  func makeHardLink(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    let from = try existingParent(of: target)
    guard try from.directory.status(target.name).kind == .regular else {
      throw SystemError(reason: "it is not a regular file", operation: "link")
    }
    try from.directory.makeHardLink(target.name, in: parent(of: path).directory, as: path.name)
  }

  func beginning(of path: ArchivePath, _ count: Int) throws(SystemError) -> [UInt8] {
    let file = try existingParent(of: path).directory.openChild(path.name)
    var bytes = [UInt8](repeating: 0, count: min(count, Int(try file.status().size)))
    let read = try file.readFully(at: 0, into: &bytes)
    return Array(bytes.prefix(read))
  }

  func replace(_ path: ArchivePath, with other: ArchivePath) throws(SystemError) {
    let from = try existingParent(of: other)
    try from.directory.rename(other.name, to: existingParent(of: path).directory, as: path.name, noReplace: false)
  }

  func remove(_ path: ArchivePath) throws(SystemError) {
    do {
      // The remembered directory may be inside.
      forget()
      try existingParent(of: path).directory.removeTree(path.name)
    } catch  where error.isNotFound || error.isNotDirectory {
      // The item does not exist, or its parent does not.
    } catch  where error.isPermissionDenied {
      // The parent has its final permissions already.
      try accessible(path.parent).directory.removeTree(path.name)
    }
  }

  func removeIfEmpty(_ path: ArchivePath) throws(SystemError) -> Bool {
    do {
      forget()
      try existingParent(of: path).directory.removeDirectory(path.name)
      return true
    } catch  where error.isNotEmpty {
      return false
    } catch  where error.isPermissionDenied {
      // The parent has its final permissions already.
      _ = try accessible(path.parent)
      return try removeIfEmpty(path)
    } catch  where error.isNotFound || error.isNotDirectory {
      return true
    }
  }

  func kind(of path: ArchivePath) throws(SystemError) -> FileKind? {
    do {
      return try existingParent(of: path).directory.status(path.name).kind
    } catch  where error.isNotFound || error.isNotDirectory || error.isSymbolicLink {
      return nil
    }
  }

  func size(of path: ArchivePath) throws(SystemError) -> UInt64? {
    do {
      let status = try existingParent(of: path).directory.status(path.name)
      return status.kind == .regular ? UInt64(clamping: status.size) : nil
    } catch  where error.isNotFound || error.isNotDirectory || error.isSymbolicLink {
      return nil
    }
  }

  func readLink(_ path: ArchivePath) throws(SystemError) -> [UInt8] {
    try existingParent(of: path).directory.readLink(path.name)
  }

  func setTimes(_ path: ArchivePath, modified: Timestamp) throws(SystemError) {
    try existingParent(of: path).directory.setTimes(path.name, modified: modified)
  }

  func setMode(_ path: ArchivePath, _ mode: UInt32) throws(SystemError) {
    try existingParent(of: path).directory.setMode(path.name, mode)
  }

  func setOwner(_ path: ArchivePath, _ owner: ItemRecord.Owner) throws(SystemError) {
    try existingParent(of: path).directory.setOwner(path.name, user: owner.user, group: owner.group)
  }

  func setAttribute(_ path: ArchivePath, _ attribute: ExtendedAttribute) throws(SystemError) {
    try accessible(path).directory.descriptor.setAttribute(attribute.name, attribute.value)
  }

  func clearExtendedMetadata(_ path: ArchivePath) throws(SystemError) {
    try accessible(path).directory.descriptor.clearExtendedMetadata()
  }

  func setAccessList(_ path: ArchivePath, _ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try accessible(path).directory.descriptor.setAccessList(list, kind)
  }

  func entries(of path: ArchivePath?) throws(SystemError) -> [(name: [UInt8], kind: FileKind)] {
    guard let path else { return try Self.entries(of: tree.directory) }
    let parent = try existingParent(of: path)
    let mode = try parent.directory.status(path.name).mode
    // A look changes nothing: the directory may move as it is.
    let isShut = mode & 0o500 != 0o500
    if isShut { try parent.directory.setMode(path.name, mode | 0o500) }
    defer { if isShut { try? parent.directory.setMode(path.name, mode) } }
    return try Self.entries(of: try parent.directory.openChildDirectory(path.name))
  }

  private static func entries(
    of directory: borrowing Directory
  ) throws(SystemError) -> [(name: [UInt8], kind: FileKind)] {
    var entries: [(name: [UInt8], kind: FileKind)] = []
    try directory.forEachEntry { (name, kind) throws(SystemError) in
      var found = kind
      if found == nil { found = try directory.status(name).kind }
      if let found { entries.append(([UInt8](copying: name), found)) }
      return true
    }
    return entries
  }

  /// Opens a directory, and first restores its permissions if they have already been removed.
  private func accessible(_ path: ArchivePath?) throws(SystemError) -> SharedDirectory {
    guard let path else { return tree }
    let parent = try existingParent(of: path)
    if try parent.directory.status(path.name).mode & 0o700 != 0o700 {
      try parent.directory.setMode(path.name, Self.directoryMode)
    }
    return SharedDirectory(try parent.directory.openChildDirectory(path.name))
  }

  /// The parent directory of an item that is about to be made; it is created if it is missing.
  func parent(of path: ArchivePath) throws(SystemError) -> SharedDirectory {
    if let current, current.path.isParent(of: path) { return current.directory }
    guard let parent = path.parent else { return tree }
    let directory = try writable(parent)
    current = (parent, directory)
    return directory
  }

  private func writable(_ path: ArchivePath) throws(SystemError) -> SharedDirectory {
    do {
      let directory = try make(path)
      if try directory.directory.status().mode & 0o700 == 0o700 { return directory }
    } catch {
      guard error.isPermissionDenied else { throw error }
    }
    // An earlier completion that failed has already set the final permissions of the directories.
    for place in path.lineage { guard (try? accessible(place)) != nil else { break } }
    return try make(path)
  }

  private func forget() {
    current = nil
    exact = []
  }

  private func make(_ path: ArchivePath) throws(SystemError) -> SharedDirectory {
    if foldsNames, !exact.contains(path) {
      for place in path.lineage where !exact.contains(place) { try makeExactly(place) }
    }
    return SharedDirectory(try tree.directory.makeDirectories(path.bytes, mode: Self.directoryMode))
  }

  /// Creates one directory in its parent, which exists. Fails if the disk finds another directory
  /// by this name.
  private func makeExactly(_ path: ArchivePath) throws(SystemError) {
    let parent = path.parent.map(\.bytes)
    let above =
      try parent.map { (bytes) throws(SystemError) in
        SharedDirectory(try tree.directory.openDirectoryBeneath(bytes))
      } ?? tree
    do {
      try above.directory.makeDirectory(path.name, mode: Self.directoryMode)
    } catch {
      guard error.isAlreadyExisting, try above.directory.lists(path.name) else { throw error }
    }
    exact.insert(path)
  }

  func existingParent(of path: ArchivePath) throws(SystemError) -> SharedDirectory {
    if let current, current.path.isParent(of: path) { return current.directory }
    guard let parent = path.parent else { return tree }
    let directory: SharedDirectory
    do {
      directory = SharedDirectory(try tree.directory.openDirectoryBeneath(parent.bytes))
    } catch  where error.isPermissionDenied {
      // An earlier completion that failed has already set the final permissions of the directories.
      for place in parent.lineage.dropLast() { _ = try accessible(place) }
      directory = try accessible(parent)
    }
    current = (parent, directory)
    return directory
  }

  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError) {
    let parent = try existingParent(of: target)
    let status = try parent.directory.status(target.name)
    guard status.kind == .regular else { throw SystemError(reason: "it is not a regular file", operation: "copy") }
    let original = try open(target)
    let extended = try original.extendedMetadata()
    // Opening may have changed the permissions.
    try parent.directory.setMode(target.name, status.mode)
    let copy = try createFile(path, mode: 0o600)
    let size = try original.size()
    try copy.copyByReading(0..<size, from: original)
    try copy.truncate(to: size)
    for attribute in extended.attributes { try copy.setAttribute(attribute) }
    // A process that may not set the owner already owns both files.
    try? copy.setOwner(ItemRecord.Owner(user: status.owner, group: status.group))
    if !extended.accessList.isEmpty { try copy.setAccessList(extended.accessList, .access) }
    try copy.setMode(status.mode)
    try copy.setTimes(modified: status.modified)
  }
}
