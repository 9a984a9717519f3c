import MigrationSystem
import MigrationWire

/// Directories whose permissions keep their items, or themselves, from being moved: they get write permission for
/// the move, and their own permissions afterwards.
extension FolderImport {
  /// Lets items be taken out of a staged directory, which does not move itself.
  func unlock(_ directory: ArchivePath) throws(Failure) {
    try importing(directory) { () throws(SystemError) in
      if let mode = try staging.disk.destination?.occupant(ofStaged: directory)?.mode, mode & 0o700 != 0o700 {
        try staged.setMode(directory, 0o700)
      }
    }
  }

  /// Makes sure that a directory can be moved, and journals the move, so that a process after a
  /// crash can finish it. Returns whether the directory must be finished after the move.
  func prepare(_ item: Item, for target: ArchivePath) throws(Failure) -> Bool {
    // Roots are recorded together, and have permissions that let them be moved.
    if item.path.parent == nil {
      try announce([(item.path, target)])
      return true
    }
    var mustFinish = false
    if item.kind == .directory, let record = try staging.directoryRecord(item.path) {
      let (mode, now) = (staging.mode(of: record), try stagedOccupant(item.path).mode)
      // Only root can move a directory without write permission.
      mustFinish = now != mode || mode & 0o200 == 0
    }
    guard mustFinish || target != item.target else { return false }
    try announce([(item.path, target)])
    guard mustFinish else { return false }
    do {
      try staged.setMode(item.path, 0o700)
    } catch {
      // A file system without permissions needs none.
      guard error.isMetadataRefused else { throw failed(item.path, error) }
    }
    return true
  }

  /// Sets the rest of a directory's metadata. Done only now: only root can move a directory without
  /// write permission.
  func finish(
    _ path: ArchivePath, _ folder: any StagedFile, _ owner: ItemRecord.Owner?
  ) throws(Failure) {
    guard let record = try staging.directoryRecord(path) else { return }
    staging.setTime(of: folder, record)
    var kept = Staging.Kept(owner: owner == staging.owners.owner(of: record))
    let list = staging.accessList(of: record)
    if !list.isEmpty {
      kept.accessList = staging.keep(.accessList) { () throws(SystemError) in try folder.setAccessList(list, .access) }
    }
    do {
      try folder.setMode(staging.mode(of: record, kept))
    } catch {
      guard error.isMetadataRefused else { throw failed(path, error) }
      // Permissions that this file system cannot keep are counted with the record.
      if staging.abilities.fixedRights == nil { staging.lost(.mode) }
    }
  }
}
