import MigrationSystem
package import MigrationWire
import Synchronization

/// One transfer's archive while it is assembled, on a disk of its own.
///
/// Several streams write at a time, each through its own `StagingWriter`. It outlives sessions, and `recover` makes it of what
/// an earlier process left.
///
/// Its locks are taken in this order: the ledger's, which a worker also holds while it makes, removes or journals what must not
/// meet what another stream brings; beneath it the journal's, held while records are written; and last that of the figures,
/// held for nothing else. A loop takes the last one alone.
package final class Staging: Sendable {
  /// How far the archive is.
  package enum Stage: Equatable, Sendable {
    case receiving
    /// Everything has arrived and agrees, durably; the import may have begun.
    case concluded(Tally)
    /// Everything is imported, durably.
    case imported(Tally)
  }

  /// A file of which parts have come.
  struct OpenFile: Sendable {
    let file: any StagedFile
    /// An earlier process wrote to it, and not everything that it wrote need count.
    let isRecovered: Bool
  }

  /// Something that an import is about to move: how it is known again, and where it goes.
  struct Move: Sendable {
    let inode: UInt64
    let target: ArchivePath
  }

  struct Shared: Sendable {
    var ledger: Ledger
    var stage = Stage.receiving
    /// What an import was about to move, by its path in staging.
    var moving: [ArchivePath: Move] = [:]
    /// What imports that were killed were about to place in several steps.
    var earlierPlacing = EarlierPlacing()
    var nameConflicts = NameConflicts()
    var open: [Ledger.FileNumber: OpenFile] = [:]
    /// The files that could not be made, and why: several streams may bring chunks of one.
    var unmade: [Ledger.FileNumber: ArchiveError] = [:]
    /// What the sender says that the source no longer has.
    var dropped: Set<Mark> = []
    /// Where the journal's records of this session begin.
    var sessionStart: UInt64 = 0
    /// What earlier sessions brought, by path; made when it is asked for the first time.
    var earlier: EarlierItems?
    /// The files that earlier sessions left incomplete.
    var earlierPartials: Set<ArchivePath> = []
    var replacedDirectories = 0
    /// The most metadata that this session may bring, whatever its offer says: all of it is written twice.
    var metadataRoom = UInt64.max
    /// Looks after the room in a session of a transfer that may become more than was announced; nil in any other.
    var watch: RoomWatch?
    /// The most bytes that are wanted of the transfer, and how many were held when the session began.
    var most: MostBytes?
    var heldAtStart: UInt64 = 0
    var refusals = Refusals()
    /// Whether items that the destination cannot hold are refused; else they end the transfer.
    var mayRefuse = true
  }

  /// The transfer that it belongs to.
  package let transfer: TransferID
  package let keys: TransferKeys
  /// The first components that may appear; nil for an app, which announces none.
  let roots: Set<[UInt8]>?
  let disk: any StagingDisk
  /// What the disk's file system can do.
  package let abilities: DiskAbilities
  let journal: JournalFile
  let umask: UInt32
  /// What becomes of items whose names are taken at the destination.
  package let existing: Existing
  /// What was wanted before, if this process was told something else.
  package let formerExisting: Existing?
  let preserved: Preserved
  let shared: GuardedLedger
  private let syncFailure = Mutex<ArchiveError?>(nil)

  /// Starts an archive on an empty disk.
  package init(
    on disk: any StagingDisk, for offer: Offer, transfer: TransferID, keys: TransferKeys,
    preserving preserved: Preserved = Preserved(), existing: Existing = .refuse
  ) throws(ArchiveError) {
    self.preserved = preserved
    self.existing = existing
    formerExisting = nil
    self.transfer = transfer
    self.keys = keys
    self.disk = disk
    abilities = disk.abilities
    roots = Self.roots(of: offer)
    shared = GuardedLedger(
      Shared(
        ledger: Ledger(keys: keys, bound: offer.bound), metadataRoom: Self.metadataRoom(on: disk)))
    journal = JournalFile(disk.journal, key: keys.journalKey, position: 0)
    do {
      umask = try CurrentProcess.umask()
      try journal.append([.opened(transfer)] + (existing == .refuse ? [] : [.existing(existing)]))
      // A journal that does not begin like this is none of ours, whatever happened to it.
      try journal.file.synchronize()
    } catch {
      throw ArchiveError(.destination, "the staging directory cannot be made", cause: error)
    }
  }

  /// Goes on with what was recovered.
  init(
    on disk: any StagingDisk, roots: Set<[UInt8]>?, transfer: TransferID, keys: TransferKeys, journal: JournalFile,
    umask: UInt32, preserving preserved: Preserved, existing: Existing, formerExisting: Existing?,
    shared: consuming Shared
  ) {
    self.preserved = preserved
    self.existing = existing
    self.formerExisting = formerExisting
    self.transfer = transfer
    self.keys = keys
    self.disk = disk
    abilities = disk.abilities
    self.roots = roots
    self.journal = journal
    self.umask = umask
    self.shared = GuardedLedger(shared)
  }

  /// The names of the roots that an offer announces.
  static func roots(of offer: Offer) -> Set<[UInt8]>? {
    if case .folders(let roots) = offer.contents { Set(roots.map(\.name)) } else { nil }
  }

  /// What the staging directory is called.
  package static func name(of transfer: TransferID) -> [UInt8] {
    Array(".peer-\(transfer.hexadecimal)".utf8)
  }

  package var stage: Stage { shared.withLock { $0.stage } }

  /// Another session begins, with another offer of the same roots. No stream writes meanwhile. `most` is what the user wants of
  /// the transfer at most.
  package func beginSession(_ offer: Offer, mayRefuse: Bool = true, atMost most: MostBytes? = nil) {
    let position = journal.position
    let room = Self.metadataRoom(on: disk)
    let watch = offer.isOpenEnded ? RoomWatch(offer, held: held) : nil
    shared.withLock { shared in
      shared.watch = watch
      shared.most = most
      shared.heldAtStart = shared.ledger.heldBytes
      shared.ledger.begin(offer.bound)
      shared.metadataRoom = room
      shared.mayRefuse = mayRefuse
      shared.sessionStart = position
      shared.earlier = nil
      shared.earlierPartials = Set(shared.ledger.incompleteFiles.map(\.path))
      shared.replacedDirectories = 0
      shared.dropped = []
    }
  }

  private static func metadataRoom(on disk: any StagingDisk) -> UInt64 { (disk.space()?.availableBytes ?? .max) / 2 }

  /// The source no longer has what these marks name; it goes when everything has arrived.
  package func drop(_ marks: [Mark]) {
    shared.withLock { shared in
      for mark in marks where shared.ledger.knows(mark) { shared.dropped.insert(mark) }
    }
  }

  /// An importer that may move and change what is staged is about to begin.
  ///
  /// Unless it comes to its end, what is taken back later is checked byte by byte before it counts.
  package func expose() throws(ArchiveError) {
    do {
      try journal.appendDurably([.exposed])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
  }

  /// The importer has come to its end, and what it made is durable.
  package func finishImport() throws(ArchiveError) {
    guard case .concluded(let total) = stage else { return }
    do {
      try journal.appendDurably([.imported])
    } catch {
      throw ArchiveError(.importFailed, "what was imported cannot be made durable", cause: error)
    }
    shared.withLock { $0.stage = .imported(total) }
  }

  /// Closes the staging directory, which is about to be removed; its ledger stays.
  package func letGo() { disk.letGo() }

  /// Makes everything that was written before the call durable, and marks that in the journal.
  ///
  /// The kernel tells once that it could not write something. So after a failure it always fails: only the content itself,
  /// read again by a recovery, tells what has stayed.
  package func synchronize() throws(ArchiveError) {
    if let failure = syncFailure.withLock({ $0 }) { throw failure }
    let position = journal.position
    do {
      try disk.synchronize()
      try journal.mark(syncedUpTo: position)
    } catch {
      let failure = ArchiveError(.storage, "the staging directory cannot be synced", cause: error)
      syncFailure.withLock { $0 = failure }
      throw failure
    }
  }
}

extension UInt128 {
  /// 32 digits.
  package var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }
}
