package import MigrationSystem
package import MigrationWire

extension DirectoryDisk: ImportDestination {
  package func occupant(ofStaged path: ArchivePath) throws(SystemError) -> Occupant? {
    do {
      return try Self.occupant(path, in: tree)
    } catch  where error.isNotFound || error.isNotDirectory {
      // The parent directory no longer exists.
      return nil
    }
  }

  package func occupant(at target: ArchivePath) throws(SystemError) -> Occupant? {
    try Self.occupant(target, in: parent)
  }

  private static func occupant(_ path: ArchivePath, in root: SharedDirectory) throws(SystemError) -> Occupant? {
    let directory = try directory(of: path, in: root)
    do {
      return Occupant(try directory.directory.status(path.name))
    } catch  where error.isNotFound {
      return nil
    }
  }

  package func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try rename(path, to: target, noReplace: true)
  }

  package func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try rename(path, to: target, noReplace: false)
  }

  private func rename(_ path: ArchivePath, to target: ArchivePath, noReplace: Bool) throws(SystemError) {
    let from = try Self.directory(of: path, in: tree)
    try from.directory.rename(
      path.name, to: Self.directory(of: target, in: parent).directory, as: target.name, noReplace: noReplace)
  }

  package func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    let from = try Self.directory(of: path, in: tree)
    try from.directory.makeHardLink(
      path.name, in: Self.directory(of: target, in: parent).directory, as: target.name)
  }

  package func claim(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> Occupant {
    let directory = try Self.directory(of: target, in: parent)
    guard isDirectory else { return Occupant(try directory.directory.createFile(target.name).status()) }
    try directory.directory.makeDirectory(target.name)
    return Occupant(try directory.directory.status(target.name))
  }

  package func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) {
    let directory = try Self.directory(of: target, in: parent)
    if isDirectory {
      try directory.directory.removeDirectory(target.name)
    } else {
      try directory.directory.remove(target.name)
    }
  }

  package func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]? {
    var names: [[UInt8]] = []
    // One handle serves one iteration at a time, and no other code lists the destination now.
    var place = parent
    if let directory { place = SharedDirectory(try parent.directory.openDirectoryBeneath(directory.bytes)) }
    try place.directory.forEachEntry { (name, _) throws(SystemError) in
      names.append([UInt8](copying: name))
      return true
    }
    return names
  }

  static func directory(of path: ArchivePath, in root: SharedDirectory) throws(SystemError) -> SharedDirectory {
    guard let parent = path.parent else { return root }
    return SharedDirectory(try root.directory.openDirectoryBeneath(parent.bytes))
  }

  package func arrivedPlaces() -> any StagingPlaces { DirectoryPlaces(tree: parent, directoryMode: 0o700) }
}

extension Occupant {
  fileprivate init(_ status: FileStatus) {
    self.init(
      kind: status.kind, mode: status.mode, device: status.device, inode: status.inode,
      size: status.kind == .regular ? UInt64(clamping: status.size) : 0, modified: status.modified)
  }
}
