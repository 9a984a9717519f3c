import MigrationSystem
import MigrationWire

// Staging+Completing has the other half: every directory but the roots, from the leaves up, before the import.

/// Sets the metadata of existing directories when their items are in place.
extension FolderImport {
  /// Gives an existing directory the metadata of the received one, but no new permission; it keeps
  /// its access lists. A directory of another user keeps its own.
  func setMetadata(of merging: Merging) throws(Failure) {
    guard let record = try staging.directoryRecord(merging.item.path) else { return }
    let folder: any StagedFile
    do {
      folder = try destination.open(merging.item.target, seen: merging.there)
    } catch {
      return staging.lost(.mode)
    }
    // Attributes need the permission to write, which a run before may have removed.
    if merging.there.mode & 0o200 == 0 { try? folder.setMode(merging.there.mode | 0o200) }
    let kept = staging.setOwnMetadata(of: folder, record)
    staging.setTime(of: folder, record)
    let sent = staging.mode(of: record, kept)
    // Without a sticky bit, more users could remove the items in it. A directory that this device has
    // from the same source, untouched, is as the source has it.
    let mode = existing == .merge ? sent : sent & (merging.there.mode | 0o7000) | merging.there.mode & 0o1000
    if mode != sent { staging.lost(.mode) }
    staging.keep(.mode) { () throws(SystemError) in try folder.setMode(mode) }
  }
}
