package import MigrationSystem
package import MigrationWire

extension DirectoryDisk: ImportDestination {
  package func occupant(ofStaged path: ArchivePath) throws(SystemError) -> Occupant? {
    do {
      return try Self.occupant(path, in: tree)
    } catch  where error.isNotFound || error.isNotDirectory {
      // The directory that it was in has gone.
      return nil
    }
  }

  package func occupant(at target: ArchivePath) throws(SystemError) -> Occupant? {
    try Self.occupant(target, in: parent)
  }

  private static func occupant(_ path: ArchivePath, in root: SharedDirectory) throws(SystemError) -> Occupant? {
    let directory = try directory(of: path, in: root)
    do {
      let status = try directory.directory.status(path.name)
      return Occupant(kind: status.kind, mode: status.mode, device: status.device, inode: status.inode)
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

  private static func directory(of path: ArchivePath, in root: SharedDirectory) throws(SystemError) -> SharedDirectory {
    guard let parent = path.parent else { return root }
    return SharedDirectory(try root.directory.openDirectoryBeneath(parent.bytes))
  }

  package func arrivedPlaces() -> any StagingPlaces { DirectoryPlaces(tree: parent, directoryMode: 0o700) }
}
