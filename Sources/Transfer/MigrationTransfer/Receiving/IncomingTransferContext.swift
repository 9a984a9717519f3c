import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The values that the workers of one transfer share over all its sessions: the remembered facts,
/// the keys of its parts, and the staging directory of the newest part.
///
/// It decides nothing. The engine names a transfer by its identifier.
final class IncomingTransferContext: Sendable {
  typealias Begun = PartRecord.Begun
  /// The staging directory of a part, and the importer that is to take its items.
  typealias Staged = (staging: Staging, importer: any Importer)

  private struct State {
    var entry: LockedTransferRecord?
    var plan: Plan?
    var begun: [UInt16: Begun] = [:]
    /// The bytes of finished parts.
    var finished: [UInt16: UInt64] = [:]
    /// How many roots the newest judgement leaves out of parts.
    var refusedRoots: [UInt16: Int] = [:]
    /// Where the roots of parts are, if they are keys.
    var places: [UInt16: RootDestinations] = [:]
    /// The folder of the destination for parts that have not begun; nil for the destination.
    var folder: ArchivePath?
    /// The answers of a person; nil before the plan is recorded.
    var consent: Consent?
    /// The newest part: its staging directory, and its importer.
    var newest: (part: UInt16, Staged)?

    init(_ entry: LockedTransferRecord?) {
      self.entry = entry
      plan = entry?.remembered.plan
      consent = entry?.remembered.consent
      for (number, part) in (entry?.remembered.parts ?? []).enumerated() {
        begun[UInt16(number)] = part.begun
        folder = part.begun?.folder ?? folder
        finished[UInt16(number)] = part.finished?.done.total.bytes
      }
    }
  }

  let identifier: TransferID
  /// The traffic of this run.
  let traffic = TrafficCount()
  /// Held only to copy a reference, since the loop reads it too.
  private let state: Mutex<State>
  /// The number of named refusals of the newest part that the engine knows. Only workers hold it,
  /// and read the staging directory meanwhile.
  private let toldRefusals = Mutex(0)

  /// Begins with what an earlier run remembered, if anything.
  init(_ identifier: TransferID, entry: LockedTransferRecord? = nil) {
    self.identifier = identifier
    state = Mutex(State(entry))
  }

  var entry: LockedTransferRecord? { state.withLock { $0.entry } }
  /// The parts that have begun.
  var begun: [UInt16: Begun] { state.withLock { $0.begun } }
  /// A part of the plan.
  func part(_ number: UInt16) -> Part? { state.withLock { $0.plan }?.parts[Int(number)] }
  /// Where an item of a part is, for this device's user.
  func place(of path: [UInt8], inPart number: UInt16) -> [UInt8] {
    state.withLock { $0.places[number] }?.place(of: path) ?? path
  }
  /// A worker has looked where the roots of a part are.
  func keep(_ places: RootDestinations?, ofPart number: UInt16) { state.withLock { $0.places[number] = places } }
  /// The folder of the destination where the parts arrive: where the first part that has begun
  /// arrives, or else what `choose` returns.
  func folder(_ choose: () throws(Failure) -> ArchivePath?) throws(Failure) -> ArchivePath? {
    let known = state.withLock { $0.begun.isEmpty ? nil : ($0.folder, true) }
    if let known { return known.0 }
    let folder = try choose()
    state.withLock { $0.folder = folder }
    return folder
  }

  /// The folder of the destination, as far as it is known.
  var folder: ArchivePath? { state.withLock { $0.folder } }

  /// The staged items of the newest part.
  var arrived: Arrived { newest?.staging.arrived ?? Arrived() }
  /// Their number and size.
  var held: Tally { newest?.staging.held ?? Tally() }

  private var newest: Staged? { state.withLock { $0.newest?.1 } }

  /// The staging of a part; nil if nothing is staged, or another part is the newest.
  func staged(ofPart part: UInt16) -> Staged? {
    state.withLock { $0.newest.flatMap { $0.part == part ? $0.1 : nil } }
  }

  /// Stops the import of the newest part, where it can be undone.
  func interruptImport() { newest?.importer.interrupt() }

  /// The bytes of the finished parts.
  var finishedBytes: UInt64 { state.withLock { $0.finished.values.reduce(0, &+) } }

  /// A part is finished.
  func finish(_ part: UInt16, _ total: Tally) { state.withLock { $0.finished[part] = total.bytes } }

  /// A part is judged.
  func refuse(_ roots: Int, ofPart part: UInt16) { state.withLock { $0.refusedRoots[part] = roots } }

  /// How many roots are left out of a part.
  func refusedRoots(ofPart part: UInt16) -> Int { state.withLock { $0.refusedRoots[part] ?? 0 } }

  /// The user wants the transfer of this plan.
  func keep(_ plan: Plan) { state.withLock { $0.plan = plan } }

  /// The answers of a person; nil before the plan is recorded.
  var consent: Consent? { state.withLock { $0.consent } }

  /// A person's answers about the plan.
  func keep(_ consent: Consent) { state.withLock { $0.consent = consent } }

  /// The transfer has a record from now on.
  func keep(_ entry: LockedTransferRecord) { state.withLock { $0.entry = entry } }

  /// A part begins, or other things of it are taken than before: that is recorded before anything of it is
  /// staged.
  func begin(_ part: UInt16, _ begun: Begun) throws(Failure) {
    try entry?.update { remembered in
      remembered.newest = part
      remembered.parts[Int(part)].begun = begun
    }
    state.withLock { $0.begun[part] = begun }
  }

  /// The newest part has a staging directory from now on.
  func keep(_ staged: Staged, ofPart part: UInt16) {
    toldRefusals.withLock { $0 = 0 }
    // The one before is released outside the lock: it may be on a disk that does not respond.
    _ = state.withLock { state in
      let before = state.newest
      state.newest = (part, staged)
      return before
    }
  }

  /// Removes and returns the record.
  func releaseEntry() -> LockedTransferRecord? { state.withLock { $0.entry.take() } }

  /// Releases the staging directory, and what its importer holds.
  func releaseStaging() { _ = state.withLock { $0.newest.take() } }

  /// Removes what is staged of every part, and what is left of a finished one whose end no record
  /// could tell. Only the store still knows the parts of a transfer that this process released.
  func removeStaging(_ area: StagingArea, in store: TransferStore?) {
    let place = try? area.place()
    if entry == nil, let stored = try? store?.open(identifier, role: .receiver) {
      state.withLock { $0 = State(stored) }
    }
    let (begun, finished) = state.withLock { state in
      _ = state.newest.take()
      return (state.begun, state.finished)
    }
    for (part, begun) in begun {
      guard let place = begun.elsewhere ?? place else { continue }
      // Data that cannot be removed stays, and 'peer resume list' names it.
      _ = try? StagingArea.discard(
        identifier.ofPart(part), begun.keys, from: place, isFinished: finished[part] != nil)
    }
  }

  /// Reports the refusals that were not reported yet, in their order.
  func tellRefusals(of staging: Staging, _ tell: ([NotStored]) -> Void) {
    toldRefusals.withLock { told in
      let new = Array(staging.refusals(from: told))
      told += new.count
      if !new.isEmpty { tell(new) }
    }
  }
}

// MARK: The remembered facts

extension IncomingTransferContext {
  /// Records the progress, for the list of unfinished transfers; while data comes, not more often than every so
  /// many seconds.
  func noteProgress(atMostEvery pause: UInt64 = 0) {
    guard let entry, let staging = newest?.staging, !entry.remembered.isDone else { return }
    let (held, now) = (staging.held, Timestamp.coarseNow().seconds)
    guard (now &- entry.remembered.lastSeen).magnitude >= pause else { return }
    try? entry.update { remembered in
      remembered.held = remembered.finished.adding(held)
      remembered.lastSeen = now
    }
  }

  /// The sender knows the result of each part, or there is nothing worth remembering. Only
  /// the store still has the transfers that this process released.
  func forget(in store: TransferStore?) {
    guard let entry = releaseEntry() ?? (try? store?.open(identifier, role: .receiver)) else { return }
    try? entry.remove()
  }
}

/// The values that the workers of one part share during one session.
final class IncomingPartContext: Sendable {
  let staging: Staging
  /// Opened when the ledger is sent, shut when the sender has said FINISH.
  let gate = WritingGate()
  let syncer: Syncer
  private let ledger: Mutex<LedgerReader>

  init(of transfer: IncomingTransferContext, staging: Staging, ledger: LedgerReader, _ streams: StreamCounts) {
    self.staging = staging
    self.ledger = Mutex(ledger)
    syncer = Syncer(staging, streams) { transfer.noteProgress(atMostEvery: 10) }
  }

  /// The next part of the available data.
  func nextLedgerPage() -> LedgerPage { ledger.withLock { $0.next() } }
}

/// The values that the workers of one session share from its first accepted offer on. The session
/// decides nothing; the engine names it by its number.
final class ReceiverSessionContext: Sendable {
  let transfer: IncomingTransferContext
  /// Whether frames may be compressed.
  let isCompressible: Bool
  let streams: StreamCounts
  private let running: Mutex<IncomingPartContext>

  init(
    of transfer: IncomingTransferContext, isCompressible: Bool, _ first: IncomingPartContext, _ streams: StreamCounts
  ) {
    self.transfer = transfer
    self.isCompressible = isCompressible
    self.streams = streams
    running = Mutex(first)
  }

  /// The newest part.
  var part: IncomingPartContext { running.withLock { $0 } }

  /// Another part begins.
  func begin(_ part: IncomingPartContext) { _ = running.withLock { exchange(&$0, with: part) } }

  /// Stops further writes and syncs. A write or sync that has begun finishes.
  func halt() {
    let part = part
    part.gate.close()
    part.syncer.stop()
  }
}

/// An earlier run's record of a transfer, and this process's lock on it, if it has one.
struct FoundTransferRecord: Sendable {
  let remembered: TransferRecord
  /// Nil where another process has it, or where it cannot be locked: it is tried again when its
  /// sender comes.
  let entry: LockedTransferRecord?

  /// Locks an entry; nil if it is gone, or if a receiver that does not stay leaves it to another
  /// process.
  static func take(_ remembered: TransferRecord, in store: TransferStore?, isKept: Bool) -> FoundTransferRecord? {
    do {
      guard let entry = try store?.open(remembered.transfer, role: .receiver) else { return nil }
      return FoundTransferRecord(remembered: entry.remembered, entry: entry)
    } catch {
      return isKept ? FoundTransferRecord(remembered: remembered, entry: nil) : nil
    }
  }
}
