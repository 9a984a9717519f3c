import MigrationSystem
package import MigrationWire
import Synchronization

/// Moves the verified roots from staging to the destination, one rename each, without ever replacing anything.
///
/// It may be killed at any moment and run again: the journal says which root it was about to move.
package struct FolderImport {
  private let staging: Staging
  private let destination: any RootDestination

  package init(_ staging: Staging, to destination: any RootDestination) {
    self.staging = staging
    self.destination = destination
  }

  /// Moves everything and makes it durable; the staging directory is not needed any more then.
  package func run(progress: (ImportProgress) -> Void) throws(ArchiveError) {
    guard case .concluded = staging.stage else { return }
    let roots = try importing { () throws(SystemError) in try destination.stagedRoots() }
    try finishEarlierMoves(except: roots)
    try checkFree(roots)
    try announce(roots)
    for (index, root) in roots.enumerated() {
      try move(root)
      progress(ImportProgress(phase: .importing, done: UInt64(index + 1), total: UInt64(roots.count)))
    }
    do {
      try destination.synchronize()
    } catch {
      throw ArchiveError(.importFailed, "what was imported cannot be made durable", cause: error)
    }
    try staging.finishImport()
  }

  /// What an import that was killed had moved has its rights and time still to get.
  private func finishEarlierMoves(except staged: [[UInt8]]) throws(ArchiveError) {
    for (root, inode) in staging.shared.withLock({ $0.moving }) where !staged.contains(root) {
      let isOurs = try importing(root) { () throws(SystemError) in try destination.inode(at: root) == inode }
      if isOurs { try finish(root) }
    }
  }

  /// Looks before the first move, so that a name that was taken meanwhile leaves nothing half imported.
  private func checkFree(_ roots: [[UInt8]]) throws(ArchiveError) {
    for root in roots {
      let inode = try importing(root) { () throws(SystemError) in try destination.inode(at: root) }
      if inode != nil { throw taken(root) }
    }
  }

  private func announce(_ roots: [[UInt8]]) throws(ArchiveError) {
    guard !roots.isEmpty else { return }
    try importing { () throws(SystemError) in
      var records: [JournalRecord] = []
      for root in roots { records.append(.moving(root: root, inode: try destination.inode(ofStaged: root))) }
      try staging.journal.appendDurably(records)
    }
  }

  private func move(_ root: [UInt8]) throws(ArchiveError) {
    do {
      try destination.move(root)
    } catch {
      if error.isAlreadyExisting { throw taken(root) }
      throw failed(root, error)
    }
    try finish(root)
  }

  /// Only now: a directory without the right to write cannot be moved by anybody but root.
  private func finish(_ root: [UInt8]) throws(ArchiveError) {
    guard let record = staging.rootRecord(root) else { return }
    if let modified = record.modified {
      do {
        try destination.setTimes(root, modified: Timestamp(modified))
      } catch {
        staging.lost(.time)
      }
    }
    if !record.accessList.isEmpty {
      staging.keep(.accessList) { () throws(SystemError) in try destination.setAccessList(root, record.accessList) }
    }
    try importing(root) { () throws(SystemError) in try destination.setMode(root, staging.mode(of: record)) }
  }

  private func importing<Result>(_ body: () throws(SystemError) -> Result) throws(ArchiveError) -> Result {
    do {
      return try body()
    } catch {
      throw ArchiveError(.importFailed, "the staging directory cannot be imported", cause: error)
    }
  }

  private func importing<Result>(
    _ root: [UInt8], _ body: () throws(SystemError) -> Result
  ) throws(ArchiveError) -> Result {
    do {
      return try body()
    } catch {
      throw failed(root, error)
    }
  }

  private func failed(_ root: [UInt8], _ cause: SystemError) -> ArchiveError {
    ArchiveError(.importFailed, "\(VisibleText.quoted(root)) cannot be imported", name: root, cause: cause)
  }

  private func taken(_ root: [UInt8]) -> ArchiveError {
    ArchiveError(
      .importFailed,
      "\(VisibleText.quoted(root)) was created in the destination in the meantime; it was left as it is, "
        + "and what arrived is kept in \(VisibleText.quoted(staging.disk.name))", name: root)
  }
}
