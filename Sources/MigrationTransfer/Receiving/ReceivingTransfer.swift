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
  /// Held for as long as a reference takes, since the loop looks here too.
  private let state: Mutex<State>
  /// How many of the named refusals the engine knows. Workers alone hold it, and ask the staging
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

  /// It is remembered from now on.
  func keep(_ entry: TransferEntry) { state.withLock { $0.entry = entry } }

  /// It is staged from now on, or again.
  func keep(_ staging: Staging) {
    state.withLock { state in
      state.staging = staging
      state.keys = staging.keys
    }
  }

  /// The remembered facts, which this forgets.
  func releaseEntry() -> TransferEntry? { state.withLock { $0.entry.take() } }

  /// Nothing is staged any more.
  func releaseStaging() { state.withLock { $0.staging = nil } }

  /// Tells of the refusals that were not told yet, in their order.
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
