package import MigrationSystem
package import MigrationWire
import Synchronization

/// The private directory in which one transfer's archive is assembled, on the file system of the destination.
///
/// It holds `tree`, with everything in its final place, and `journal`. Several streams write at a time, each through its own
/// `StagingWriter`; what they share is behind one lock.
package final class Staging: Sendable {
  struct Shared: Sendable {
    var ledger: Ledger
    /// Files of which parts have come.
    var open: [Ledger.FileNumber: SharedDescriptor] = [:]
    var losses: [Done.Loss.Kind: UInt64] = [:]
  }

  /// The transfer that it belongs to.
  package let transfer: TransferID
  /// Where the staging directory is.
  let parent: SharedDirectory
  /// What it is called there.
  package let name: [UInt8]
  /// The first components that may appear; nil for an app, which announces none.
  let roots: Set<[UInt8]>?
  let tree: SharedDirectory
  let journal: JournalFile
  let umask: UInt32
  private let directory: SharedDirectory
  let shared: Mutex<Shared>

  /// Makes the directory.
  package init(
    in parent: SharedDirectory, for offer: Offer, transfer: TransferID, keys: TransferKeys
  ) throws(ArchiveError) {
    self.transfer = transfer
    self.parent = parent
    name = Array(".peer-\(Self.hexadecimal(transfer))".utf8)
    if case .folders(let roots) = offer.contents { self.roots = Set(roots.map(\.name)) } else { roots = nil }
    shared = Mutex(Shared(ledger: Ledger(keys: keys, bound: offer.bound)))
    var isMade = false
    do {
      try parent.directory.makeDirectory(name, mode: 0o700)
      isMade = true
      directory = SharedDirectory(try parent.directory.openChildDirectory(name))
      try directory.directory.makeDirectory("tree", mode: 0o700)
      tree = SharedDirectory(try directory.directory.openChildDirectory("tree"))
      journal = try JournalFile(
        try directory.directory.createFile("journal"), key: keys.journalKey, transfer: transfer)
      umask = try CurrentProcess.umask()
    } catch {
      if isMade { try? parent.directory.removeTree(name) }
      throw ArchiveError(.destination, "the staging directory cannot be made", cause: error)
    }
  }

  /// How much is there, complete or not, and how many items are complete.
  package var held: Tally {
    shared.withLock { Tally(items: $0.ledger.total.items, bytes: $0.ledger.heldBytes) }
  }

  /// What the destination could not hold so far.
  package var losses: [Done.Loss] {
    shared.withLock { shared in
      shared.losses.map { Done.Loss(kind: $0.key, count: $0.value) }.sorted { $0.kind.rawValue < $1.kind.rawValue }
    }
  }

  /// Counts something that the destination cannot hold.
  func lost(_ kind: Done.Loss.Kind, _ count: UInt64 = 1) {
    shared.withLock { $0.losses[kind, default: 0] += count }
  }

  /// The ledger as it is told to the sender: marks ascending, then the incomplete files.
  package var report: (marks: [Mark], partials: [Partial], held: Tally) {
    shared.withLock { shared in
      let marks = shared.ledger.marks
      return (
        marks, shared.ledger.partials, Tally(items: UInt64(marks.count), bytes: shared.ledger.heldBytes)
      )
    }
  }

  /// Makes everything that was written before the call durable, and marks that in the journal.
  package func synchronize() throws(ArchiveError) {
    let position = journal.position
    do {
      try tree.directory.descriptor.synchronizeFileSystem()
      try journal.mark(syncedUpTo: position)
    } catch {
      throw ArchiveError(.storage, "the staging directory cannot be synced", cause: error)
    }
  }

  /// Removes the directory and everything in it.
  package func remove() throws(ArchiveError) {
    do {
      try parent.directory.removeTree(name)
    } catch {
      throw ArchiveError(.storage, "the staging directory cannot be removed", cause: error)
    }
  }

  private static func hexadecimal(_ transfer: TransferID) -> String {
    let digits = String(transfer, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }
}
