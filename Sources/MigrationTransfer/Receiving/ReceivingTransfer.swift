import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The values that the workers of one transfer share over all its sessions: the remembered facts,
/// its keys, and its staging directory.
///
/// It decides nothing; the engine names it by its identifier.
final class ReceivingTransfer: Sendable {
  private struct State {
    var entry: TransferEntry?
    var keys: TransferKeys?
    var staging: Staging?
  }

  let identifier: TransferID
  /// The traffic of this run.
  let traffic = TrafficCount()
  /// Held only to copy a reference, since the loop reads it too.
  private let state: Mutex<State>
  /// The number of named refusals that the engine knows. Only workers hold it, and read the staging
  /// directory meanwhile.
  private let toldRefusals = Mutex(0)

  /// Begins with what an earlier run remembered, if anything.
  init(_ identifier: TransferID, entry: TransferEntry? = nil) {
    self.identifier = identifier
    state = Mutex(State(entry: entry, keys: entry?.remembered.destination?.keys))
  }

  var entry: TransferEntry? { state.withLock { $0.entry } }
  var keys: TransferKeys? { state.withLock { $0.keys } }
  var staging: Staging? { state.withLock { $0.staging } }
  /// The staged items.
  var held: Tally { staging?.held ?? Tally() }

  /// The transfer has a record from now on.
  func keep(_ entry: TransferEntry) { state.withLock { $0.entry = entry } }

  /// The transfer has a staging directory from now on.
  func keep(_ staging: Staging) {
    state.withLock { state in
      state.staging = staging
      state.keys = staging.keys
    }
  }

  /// Removes and returns the record.
  func releaseEntry() -> TransferEntry? { state.withLock { $0.entry.take() } }

  /// Releases the staging directory.
  func releaseStaging() { state.withLock { $0.staging = nil } }

  /// Reports the refusals that were not reported yet, in their order.
  func tellRefusals(_ tell: ([Refusal]) -> Void) {
    guard let staging else { return }
    toldRefusals.withLock { told in
      let new = Array(staging.refusals(from: told))
      told += new.count
      if !new.isEmpty { tell(new) }
    }
  }
}

// MARK: The remembered facts

extension ReceivingTransfer {
  /// Records the progress, for the list of unfinished transfers.
  func noteProgress() {
    guard let entry, let staging, entry.remembered.done == nil else { return }
    let held = staging.held
    try? entry.update { remembered in
      remembered.held = held
      remembered.lastSeen = Timestamp.coarseNow().seconds
    }
  }

  /// The sender knows that the transfer is complete, or there is nothing worth remembering. Only
  /// the store still has the transfers that this process released.
  func forget(in store: TransferStore?) {
    guard let entry = releaseEntry() ?? (try? store?.open(identifier, role: .receiver)) else { return }
    try? entry.remove()
  }
}

/// The values that the workers of one session of an accepted offer share. The session decides
/// nothing; the engine names it by its number.
final class ReceivingSession: Sendable {
  let number: SessionNumber
  let transfer: ReceivingTransfer
  let staging: Staging
  /// The session's features.
  let features: Features
  /// Shut when the sender has said FINISH, and closed with the session.
  let gate = WritingGate()
  let syncer: Syncer
  private let ledger: Mutex<LedgerReader>

  init(
    _ number: SessionNumber, of transfer: ReceivingTransfer, staging: Staging, features: Features, ledger: LedgerReader
  ) {
    self.number = number
    self.transfer = transfer
    self.staging = staging
    self.features = features
    self.ledger = Mutex(ledger)
    syncer = Syncer(staging) { transfer.noteProgress() }
  }

  /// The next part of the available data.
  func nextLedgerPart() -> LedgerPart { ledger.withLock { $0.next() } }

  /// Stops further writes and syncs. Those that have begun finish.
  func halt() {
    gate.close()
    syncer.stop()
  }
}

/// An earlier run's record of a transfer, and this process's lock on it, if it has one.
struct RememberedEntry: Sendable {
  let remembered: RememberedTransfer
  /// Nil where another process has it, or where it cannot be locked: it is tried again when its
  /// sender comes.
  let entry: TransferEntry?

  /// Locks an entry; nil if it is gone, or if a receiver that does not stay leaves it to another
  /// process.
  static func take(_ remembered: RememberedTransfer, in store: TransferStore?, isKept: Bool) -> RememberedEntry? {
    do {
      guard let entry = try store?.open(remembered.transfer, role: .receiver) else { return nil }
      return RememberedEntry(remembered: entry.remembered, entry: entry)
    } catch {
      return isKept ? RememberedEntry(remembered: remembered, entry: nil) : nil
    }
  }
}
