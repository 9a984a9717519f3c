import MigrationSystem
import MigrationWire

/// Whose a staging directory is, in a folder that other users may change: a name there proves nothing.
extension DirectoryDisk {
  static func open(_ name: [UInt8], in parent: SharedDirectory) throws(SystemError) -> Directory? {
    do {
      return try parent.directory.openChildDirectory(name)
    } catch  where error.isNotFound || error.isNotDirectory || error.isSymbolicLink || error.isPermissionDenied {
      return nil
    }
  }

  /// Whether only this process's user can have made a directory and can change it: it has the owner
  /// and the lack of rights for others that new entries in it have. Where every entry has the same
  /// owner and rights, nothing more can be known.
  static func isPrivate(_ own: borrowing Directory, like file: borrowing Descriptor) throws(SystemError) -> Bool {
    let (directory, sample) = (try own.status(), try file.status())
    guard sample.kind == .regular, directory.owner == sample.owner else { return false }
    if directory.mode & 0o077 == 0 { return true }
    // Some mounts give directories other rights than files.
    return try own.status(treeName).mode & 0o077 == directory.mode & 0o077
  }

  /// Whether a directory has no more than a kill can leave of a new staging directory.
  static func isUnused(_ own: borrowing Directory) throws(SystemError) -> Bool {
    var isUnused = true
    try own.forEachEntry { (entry, _) throws(SystemError) in
      let name = [UInt8](copying: entry)
      let status = try own.status(name)
      switch name {
      case journalName: isUnused = status.kind == .regular && status.size == 0
      case treeName where status.kind == .directory: isUnused = try own.openChildDirectory(name).isEmpty()
      case DiskProbe.name where status.kind == .directory:
        isUnused = DiskProbe.canHaveLeft(try own.openChildDirectory(name))
      default: isUnused = false
      }
      return isUnused
    }
    return isUnused
  }
}
