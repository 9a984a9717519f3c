import MigrationSystem
package import MigrationWire
import Synchronization

extension Staging {
  /// Compares what is there with what the sender says it must be, and makes what waits for the end: hard links,
  /// directories' rights and times. The roots' own rights wait until they are moved.
  ///
  /// Throws a `Violation` where the archive is not the one that the sender meant.
  package func complete(_ finish: Finish, progress: (ImportProgress) -> Void) throws {
    try dropIncomplete()
    let (agrees, links, directories) = shared.withLock { shared in
      (
        shared.ledger.agrees(with: finish), Array(shared.ledger.hardLinks.values),
        Array(shared.ledger.directories.values)
      )
    }
    guard agrees else { throw Violation(.conflict, "the archive that arrived") }
    let total = UInt64(links.count + directories.count)
    var done: UInt64 = 0
    for link in links {
      try make(link)
      done += 1
    }
    // From the leaves up: a directory may lose the rights that are needed to reach what is in it.
    for record in directories.sorted(by: Self.deeperFirst) {
      try setMetadata(of: record)
      done += 1
      if done % 256 == 0 { progress(ImportProgress(phase: .verifying, done: done, total: total)) }
    }
    progress(ImportProgress(phase: .makingDurable, done: 0, total: 1))
    try synchronize()
    do {
      try journal.append([.concluded(finish.total)])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
    progress(ImportProgress(phase: .makingDurable, done: 1, total: 1))
  }

  /// The record of a root that is a directory.
  func rootRecord(_ name: [UInt8]) -> ItemRecord? {
    guard let path = try? ArchivePath(name) else { return nil }
    return shared.withLock { $0.ledger.directories[path] }
  }

  private func dropIncomplete() throws(ArchiveError) {
    let partials = shared.withLock { shared in
      shared.open = [:]
      return shared.ledger.dropIncomplete()
    }
    for path in partials {
      try inParent(of: path, "removing") { (directory, name) throws(SystemError) in try directory.remove(name) }
    }
  }

  private func make(_ link: ItemRecord) throws {
    guard case .hardLink(let target) = link.body else { return }
    guard roots?.contains(Array(target.root)) ?? true else { throw Violation(.announcement, "a hard link's target") }
    guard let from = try? directoryThatIsThere(of: target), let status = try? from.directory.status(target.name),
      status.kind == .regular
    else { throw Violation(.conflict, "a hard link's target") }
    do {
      let to = try directory(of: link.path)
      try from.directory.makeHardLink(target.name, in: to.directory, as: link.path.name)
    } catch {
      throw ArchiveError(placing: link.path, "linking", error)
    }
  }

  private func setMetadata(of record: ItemRecord) throws(ArchiveError) {
    let mode = mode(of: record)
    let isRoot = record.path.parent == nil && roots != nil
    try inParent(of: record.path, "setting the rights of") { (directory, name) throws(SystemError) in
      if let modified = record.modified {
        do {
          try directory.setTimes(name, modified: Timestamp(modified))
        } catch {
          lost(.time)
        }
      }
      if !isRoot { try directory.setMode(name, mode) }
    }
  }

  private func directory(of path: ArchivePath) throws(SystemError) -> SharedDirectory {
    guard let parent = path.parent else { return tree }
    return SharedDirectory(try tree.directory.makeDirectories(parent.bytes, mode: Self.directoryMode))
  }

  private func directoryThatIsThere(of path: ArchivePath) throws(SystemError) -> SharedDirectory {
    guard let parent = path.parent else { return tree }
    return SharedDirectory(try tree.directory.openDirectoryBeneath(parent.bytes))
  }

  private func inParent(
    of path: ArchivePath, _ action: String,
    _ body: (borrowing Directory, ArraySlice<UInt8>) throws(SystemError) -> Void
  ) throws(ArchiveError) {
    do {
      try body(try directory(of: path).directory, path.name)
    } catch {
      throw ArchiveError(action, path, error)
    }
  }

  private static func deeperFirst(_ left: ItemRecord, _ right: ItemRecord) -> Bool {
    let (one, other) = (left.path.depth, right.path.depth)
    return one == other ? left.path < right.path : one > other
  }
}
