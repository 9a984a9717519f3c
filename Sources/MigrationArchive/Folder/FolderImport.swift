import MigrationSystem
import MigrationWire

/// Moves the verified roots from staging to the destination, one rename each, without ever replacing anything.
struct FolderImport {
  let staging: Staging

  /// Moves everything, makes it durable, and removes the staging directory.
  func run(progress: (ImportProgress) -> Void) throws(ArchiveError) {
    let roots = try stagedRoots()
    try checkFree(roots)
    for (index, root) in roots.enumerated() {
      try move(root)
      progress(ImportProgress(phase: .importing, done: UInt64(index + 1), total: UInt64(roots.count)))
    }
    do {
      try staging.parent.directory.descriptor.synchronizeFileSystem()
      try staging.journal.append([.imported])
    } catch {
      throw ArchiveError(.importFailed, "what was imported cannot be made durable", cause: error)
    }
    try staging.remove()
  }

  private func stagedRoots() throws(ArchiveError) -> [[UInt8]] {
    var roots: [[UInt8]] = []
    do {
      try staging.tree.directory.forEachEntry { (name, _) throws(SystemError) in
        roots.append([UInt8](copying: name))
        return true
      }
    } catch {
      throw ArchiveError(.importFailed, "the staging directory cannot be read", cause: error)
    }
    return roots.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Looks before the first move, so that a name that was taken meanwhile leaves nothing half imported.
  private func checkFree(_ roots: [[UInt8]]) throws(ArchiveError) {
    for root in roots {
      do {
        _ = try staging.parent.directory.status(root)
      } catch  where error.isNotFound {
        continue
      } catch {
        throw ArchiveError(.importFailed, "\"\(VisibleText.of(root))\" cannot be imported", name: root, cause: error)
      }
      throw taken(root)
    }
  }

  private func move(_ root: [UInt8]) throws(ArchiveError) {
    do {
      try staging.tree.directory.rename(root, to: staging.parent.directory, as: root, noReplace: true)
      guard let record = staging.rootRecord(root) else { return }
      // Only now: a directory without the right to write cannot be moved by anybody but root.
      if let modified = record.modified {
        do {
          try staging.parent.directory.setTimes(root, modified: Timestamp(modified))
        } catch {
          staging.lost(.time)
        }
      }
      try staging.parent.directory.setMode(root, staging.mode(of: record))
    } catch {
      if error.isAlreadyExisting { throw taken(root) }
      throw ArchiveError(.importFailed, "\"\(VisibleText.of(root))\" cannot be imported", name: root, cause: error)
    }
  }

  private func taken(_ root: [UInt8]) -> ArchiveError {
    ArchiveError(
      .importFailed,
      "\"\(VisibleText.of(root))\" was created in the destination in the meantime; it was left as it is, "
        + "and what arrived is kept in \"\(VisibleText.of(staging.name))\"", name: root)
  }
}
