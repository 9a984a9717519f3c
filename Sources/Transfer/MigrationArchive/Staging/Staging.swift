import MigrationSystem
package import MigrationWire

/// The archive of one transfer while it is assembled, on a disk of its own.
///
/// Several streams write at a time, each through its own `StagingWriter`. It outlives sessions, and
/// `recover` restores it from the data of an earlier process.
///
/// Its locks are taken in this order:
/// 1. the ledger's lock, which a worker also holds while it creates, removes or journals items that
///    must not collide with the data of another stream;
/// 2. the journal's lock, held while records are written;
/// 3. the lock of the figures, which protects only them. A loop takes only this lock.
package final class Staging: Sendable {
  /// The progress of the archive.
  package enum Stage: Equatable, Sendable {
    case receiving
    /// All data has arrived, matches the sender's totals, and is durable; the import may have
    /// begun.
    case concluded(Tally)
    /// All items have been imported, durably.
    case imported(Tally)
  }

  /// An item that an import is about to move, or an old entry that it is about to set aside: how to
  /// recognise it again, and its target.
  struct Move: Sendable {
    let inode: UInt64
    let target: ArchivePath
  }

  struct Shared: Sendable {
    var ledger: Ledger
    var stage = Stage.receiving
    /// The items that an import was about to move, by their paths in staging.
    var moving: [ArchivePath: Move] = [:]
    /// The old entries that an import was about to set aside, by the paths of the items that come in
    /// their places.
    var asides: [ArchivePath: Move] = [:]
    /// The moment at which the import began: later changes in an item that it has moved were made
    /// by others. Nil if it is unknown.
    var importBegan: ItemTime?
    /// The items that killed imports were about to place in several steps.
    var earlierPlacing = FolderImport.EarlierPlacing()
    /// The first items that were imported next to existing items with their names, and their number.
    var renamed: [RenamedItem] = []
    var renamedCount: UInt64 = 0
    var open: [Ledger.FileNumber: OpenFile] = [:]
    /// The files that could not be created, and why: several streams may bring chunks of one file.
    var unmade: [Ledger.FileNumber: Failure] = [:]
    /// The items that, according to the sender, no longer exist in the source.
    var dropped: Set<Mark> = []
    /// The position in the journal where this session's records begin.
    var sessionStart: UInt64 = 0
    /// The items that earlier sessions brought, by path; built at the first request.
    var earlier: EarlierItems?
    /// The files that earlier sessions left incomplete.
    var earlierPartials: Set<ArchivePath> = []
    /// The complete files of earlier sessions whose newer states are on the way, and their names until
    /// these are complete.
    var replaced: [ArchivePath: (record: ItemRecord, name: ArchivePath)] = [:]
    /// The names of kept files whose newer states are complete: they are removed when these are durable.
    var superseded: [ArchivePath] = []
    /// How many have been kept so far.
    var keptCount = 0
    /// The files without a claim that could not be removed.
    var abandoned: Set<ArchivePath> = []
    var replacedDirectories = 0
    /// The most metadata that this session may bring, regardless of its offer: all of it is written
    /// twice.
    var metadataRoom = UInt64.max
    /// Watches the space in a session; nil before the first one.
    var watch: RoomWatch?
    /// The most bytes accepted of the transfer, and how many were held when the session began.
    var most: MostBytes?
    var heldAtStart: UInt64 = 0
    var refusals = Refusals()
    /// Whether items that the destination cannot hold are refused; otherwise they end the transfer.
    var mayRefuse = true
  }

  /// The transfer of this archive.
  package let transfer: TransferID
  package let keys: TransferKeys
  /// The announced first components of paths; nil for an app, which announces none.
  let announced: Set<[UInt8]>?
  package let disk: any StagingDisk
  /// The abilities of the disk's file system.
  package let abilities: DiskAbilities
  let journal: JournalFile
  let umask: UInt32
  /// How items are treated whose names are taken at the destination.
  package let existing: Existing
  /// The previous setting, if this process was started with a different one.
  package let formerExisting: Existing?
  let preserved: Preserved
  let owners: LocalOwners
  let shared: GuardedLedger
  /// The position in the journal up to which items are synced, where each item is synced.
  let syncedEach = Mutex<UInt64>(0)
  private let syncFailure = Mutex<Failure?>(nil)
  private let record = Mutex<ArrivedItems?>(nil)
  private let others = Mutex<Deliveries.OfPart?>(nil)

  /// The items that this part, and others in this run, have put in place; nil if none can be replaced.
  package var deliveries: Deliveries.OfPart? {
    get { others.withLock { $0 } }
    set { others.withLock { $0 = newValue } }
  }

  /// The earlier versions of files from which pieces are taken, while these are incomplete.
  let bases = Mutex<[ArchivePath: Base]>([:])

  /// What the newest session accepts; nil before the first one of this process.
  let permitted = Mutex<Permitted?>(nil)

  /// The items that the user of this device takes; nil for all.
  var permit: ArrivalPermit? { permitted.withLock { $0?.permit } }

  /// The permitted first components of paths; nil for an app, which announces none.
  var roots: Set<[UInt8]>? { permitted.withLock { $0?.roots } ?? announced }

  /// The items of this part that the same device has brought before; nil if they are not recorded.
  package var arrivals: ArrivedItems? {
    get { record.withLock { $0 } }
    set { record.withLock { $0 = newValue } }
  }

  /// Starts an archive on an empty disk.
  package init(
    on disk: any StagingDisk, for offer: Offer, transfer: TransferID, keys: TransferKeys,
    preserving preserved: Preserved = Preserved(), existing: Existing = .refuse
  ) throws(Failure) {
    self.preserved = preserved
    owners = LocalOwners(preserved.map)
    self.existing = existing
    formerExisting = nil
    self.transfer = transfer
    self.keys = keys
    self.disk = disk
    abilities = disk.abilities
    announced = Self.roots(of: offer)
    shared = GuardedLedger(
      Shared(
        ledger: Ledger(keys: keys, bound: offer.bound), metadataRoom: Self.metadataRoom(on: disk)))
    journal = JournalFile(disk.journal, key: keys.journalKey, position: 0)
    do {
      umask = try CurrentProcess.umask()
      try journal.append([.opened(transfer)] + (existing == .refuse ? [] : [.existing(existing)]))
      // A journal without this beginning is not a journal of this program, even a damaged one.
      try journal.file.synchronize()
    } catch {
      throw Failure(.unfit, "the staging directory cannot be created", cause: error)
    }
  }

  /// Continues with a recovered archive.
  init(
    on disk: any StagingDisk, roots: Set<[UInt8]>?, transfer: TransferID, keys: TransferKeys, journal: JournalFile,
    umask: UInt32, preserving preserved: Preserved, existing: Existing, formerExisting: Existing?,
    shared: consuming Shared
  ) {
    self.preserved = preserved
    owners = LocalOwners(preserved.map)
    self.existing = existing
    self.formerExisting = formerExisting
    self.transfer = transfer
    self.keys = keys
    self.disk = disk
    abilities = disk.abilities
    announced = roots
    self.journal = journal
    self.umask = umask
    self.shared = GuardedLedger(shared)
  }

  /// The names of the roots in an offer.
  package static func roots(of offer: Offer) -> Set<[UInt8]>? {
    if case .app = offer.contents { nil } else { Set(offer.contents.roots.map(\.name)) }
  }

  /// The name of the staging directory. While another entry has that name, the name with the next
  /// number serves.
  package static func name(of transfer: TransferID, number: Int = 1) -> [UInt8] {
    Array(".peer-\(transfer.hexadecimal)\(number == 1 ? "" : ".\(number)")".utf8)
  }

  /// Whether a name belongs to staging, or to data that was set aside, on any file system: some
  /// ignore case and invisible characters, or strip the end of a name.
  package static func isName(_ name: [UInt8]) -> Bool {
    let folded = String(decoding: name, as: UTF8.self).uppercased().lowercased().unicodeScalars
      .filter { !$0.properties.isDefaultIgnorableCodePoint }
    let digits = folded.dropFirst(6).prefix(32)
    return folded.starts(with: ".peer-".unicodeScalars) && digits.count == 32
      && digits.allSatisfy { "0123456789abcdef".unicodeScalars.contains($0) }
  }

  package var stage: Stage { shared.withLock { $0.stage } }

  /// Begins another session, with another offer of the same roots. No stream writes meanwhile.
  /// `most` is the most data that the user accepts of the transfer.
  package func beginSession(_ offer: Offer, mayRefuse: Bool = true, atMost most: MostBytes? = nil) {
    let position = journal.position
    let room = Self.metadataRoom(on: disk)
    bases.withLock { $0 = [:] }
    let watch = RoomWatch(offer, held: held)
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

  /// Records that the items of these marks no longer exist in the source; they are removed when
  /// everything has arrived.
  package func drop(_ marks: [Mark]) {
    let others = shared.withLock { shared in
      for mark in marks where shared.ledger.knows(mark) { shared.dropped.insert(mark) }
      return arrivals == nil ? [] : marks.filter { !shared.ledger.knows($0) }
    }
    arrivals?.noteAbsent(others)
  }

  /// Records that an importer is about to begin that may move and change the staged items.
  ///
  /// Unless the importer completes, a later recovery checks the items byte by byte before they
  /// count.
  package func expose() throws(Failure) {
    try Failure.wrapping(.storage, "the journal cannot be written", journal.appendDurably([.exposed]))
  }

  /// Records that the importer has completed, and that its results are durable. The record survives
  /// this process; a power loss may take it, and then the next run finds every item in its place.
  package func finishImport() throws(Failure) {
    guard case .concluded(let total) = stage else { return }
    try Failure.wrapping(.importFailed, "the imported items cannot be made durable", journal.append([.imported]))
    shared.withLock { $0.stage = .imported(total) }
  }

  /// Makes the record of the import durable, where no other record says the same.
  package func makeImportDurable() throws(Failure) {
    try Failure.wrapping(.importFailed, "the imported items cannot be made durable", journal.file.synchronize())
  }

  /// Removes the staging directory, durably; the ledger remains.
  package func remove() throws(Failure) {
    try Failure.wrapping(
      .storage, "the staging directory \(VisibleText.quoted(disk.name)) cannot be removed", disk.remove())
  }

  /// Makes everything written before the call durable, and records that in the journal, durably and
  /// with the records that need it.
  ///
  /// The kernel reports a write error only once. So after a failure this method always fails: only
  /// a recovery, which reads the content again, shows which data is intact. And one thread syncs at a
  /// time: another one's sync would succeed while the failure is on its way here.
  package func synchronize() throws(Failure) { try synchronize(before: []) }

  func synchronize(before records: [JournalRecord]) throws(Failure) {
    let superseded = shared.withLock { $0.superseded }
    try syncFailure.withLock { (failure) throws(Failure) in
      if let failure { throw failure }
      let position = journal.position
      do throws(SystemError) {
        if disk.syncsEach { try synchronizeEach(upTo: position, andFolders: !records.isEmpty) }
        try disk.synchronize()
        // Written as one: a power loss keeps no record without the mark before it.
        try journal.appendDurably([.synced(upTo: position)] + records)
      } catch {
        let error = Failure(.storage, "the staging directory cannot be synced", cause: error)
        failure = error
        throw error
      }
    }
    guard !superseded.isEmpty else { return }
    let places = disk.places()
    for name in superseded { try remove(name, in: places) }
    shared.withLock { $0.superseded.removeAll(where: superseded.contains) }
  }

  /// Syncs each item that the journal claims and did not claim before, and its folders.
  private func synchronizeEach(upTo end: UInt64, andFolders hasEnded: Bool) throws(SystemError) {
    let start = syncedEach.withLock { $0 }
    var paths: Set<ArchivePath> = []
    var reader = JournalFile.Reader(journal.file, key: journal.key, end: end, start: start)
    while case .record(let record, _) = try reader.next() {
      switch record {
      case .item(let item, _), .sealed(let item): paths.insert(item.path)
      case .range(let place, _): paths.insert(place.path)
      case .kept(_, let name): paths.insert(name)
      default: break
      }
    }
    try disk.synchronize(paths)
    if hasEnded { try disk.synchronizeFolders() }
    syncedEach.withLock { $0 = end }
  }

  /// The items that the import has renamed so far, because their names were taken: the first ones,
  /// and their number.
  package var renamed: [RenamedItem] { shared.withLock { $0.renamed } }
  package var renamedCount: UInt64 { shared.withLock { $0.renamedCount } }

  private static let mostRenamed = 10_000

  /// Notes an item that the import has renamed.
  func noteRenamed(_ path: ArchivePath, _ target: ArchivePath) {
    shared.withLock { shared in
      shared.renamedCount += 1
      if shared.renamed.count < Self.mostRenamed { shared.renamed.append(RenamedItem(path: path, target: target)) }
    }
  }

  /// The terms of the transfer.
  package var terms: TransferTerms { TransferTerms(transfer: transfer, keys: keys, existing: existing) }

  /// The total of the staged data, complete or not, and the number of complete items. Like the
  /// other figures, it never waits for a disk.
  package var held: Tally { shared.withFigures { $0.held } }

  /// The same, with the holes that came since this process has the archive.
  package var arrived: Arrived {
    shared.withFigures { Arrived($0.held, holes: $0.holes, uncounted: min($0.uncounted, $0.held.bytes)) }
  }

  /// The part of the archive that need not be sent any more: the staged and the refused items.
  package var settled: Tally { shared.withFigures { $0.held.adding($0.refused) } }

  /// The part of an offer that need not be sent any more: all of it once everything has arrived,
  /// even if the offer was an estimate.
  package func settled(of offer: Offer) -> Tally {
    let settled = settled
    if case .receiving = stage { return settled }
    return Tally(items: max(settled.items, offer.items), bytes: max(settled.bytes, offer.bytes, offer.allocated))
  }

  /// The number of refused items of the archive.
  package var notStored: UInt64 { shared.withFigures { $0.refused.items } }

  /// The metadata that the destination could not hold so far.
  package var losses: [Done.Loss] {
    shared.withFigures { $0.losses }.map { Done.Loss(kind: $0.key, count: $0.value) }
      .sorted { $0.kind.rawValue < $1.kind.rawValue }
  }

  /// Whether the user wants owners, and the sender sends none.
  package var lacksOwners: Bool { preserved.owners && shared.withFigures { $0.held.items > 0 && !$0.hasOwners } }

  /// Counts metadata that the destination cannot hold.
  func lost(_ kind: Done.Loss.Kind, _ count: UInt64 = 1) {
    shared.withFigures { $0.losses[kind, default: 0] += count }
  }
}
