import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// What the workers of one transfer share, over all its sessions: what is remembered of it, its keys, and where it is staged.
///
/// It decides nothing; the engine names it by its identifier.
final class ReceivingTransfer: Sendable {
  private struct State {
    var entry: TransferEntry?
    var keys: TransferKeys?
    var staging: Staging?
  }

  let identifier: TransferID
  /// What crosses the wire in this run.
  let traffic = TrafficCount()
  /// Held for as long as a reference takes, since the loop looks here too.
  private let state: Mutex<State>
  /// How many of the named refusals the engine knows. Workers alone hold it, and ask the staging directory meanwhile.
  private let toldRefusals = Mutex(0)

  /// Begins with what an earlier run remembered, if anything.
  init(_ identifier: TransferID, entry: TransferEntry? = nil) {
    self.identifier = identifier
    state = Mutex(State(entry: entry, keys: entry?.remembered.destination?.keys))
  }

  var entry: TransferEntry? { state.withLock { $0.entry } }
  var keys: TransferKeys? { state.withLock { $0.keys } }
  var staging: Staging? { state.withLock { $0.staging } }
  /// What is staged by now.
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

  /// What is remembered, which this forgets.
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

// MARK: What the store remembers

extension ReceivingTransfer {
  /// Notes how far it is, for those who list what is unfinished.
  func noteProgress() {
    guard let entry, let staging, entry.remembered.done == nil else { return }
    let held = staging.held
    try? entry.update { remembered in
      remembered.held = held
      remembered.lastSeen = Timestamp.coarseNow().seconds
    }
  }

  /// The sender knows that all is done, or nothing is worth remembering. What this process has let go of is in the store alone.
  func forget(in store: TransferStore?) {
    guard let entry = releaseEntry() ?? (try? store?.open(identifier, role: .receiver)) else { return }
    try? entry.remove()
  }
}
