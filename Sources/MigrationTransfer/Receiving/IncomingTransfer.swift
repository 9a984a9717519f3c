import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One transfer at the receiver, over all its sessions and over restarts of the program.
///
/// A session comes and goes with its control connection. What it must not take with it is here: the staging directory, the
/// import once it has begun, and what the store remembers. What a session may do to it is the course's to say.
final class IncomingTransfer: Sendable {
  typealias Course = TransferCourse<Done, Fault>

  struct State {
    var course = Course()
    var entry: TransferEntry?
    var keys: TransferKeys?
    var staging: Staging?
    /// What was published last, as long as no newer session's offer is judged.
    var reception: Reception?
    /// The current session's.
    var mailbox: Mailbox<ReceiverNews>?
    var heldBefore = Tally()
    var unsent: UInt64 = 0
    var leftOut = LeftOut()
    /// How many items the sender has left out, since the destination cannot hold them.
    var withheld: UInt64 = 0
    /// How many of the named refusals this device's user knows.
    var toldRefusals = 0
    /// What the sender has left out in the newest session, since the destination cannot hold it.
    var withheldItems: [Refusal] = []
    /// What is named as not stored, once all is imported.
    var notStored: [Refusal] = []
    /// Whether this device's user has heard of it in this run.
    var isNotStoredTold = false
    var leftBehind: [LeftBehind] = []
    /// What the newest offer announces.
    var total = Tally()

    var held: Tally { staging?.held ?? Tally() }
    /// Whether nothing would be lost with the transfer.
    var isEmpty: Bool { course.isReceiving && held == Tally() }
  }

  let identifier: TransferID
  /// The other device's key: the pin.
  let client: KeyFingerprint
  let host: any ReceptionHost
  let state: Condition<State>
  /// What crosses the wire in this run.
  let traffic = TrafficCount()

  /// Begins with a pairing. Nothing is remembered before an offer is accepted.
  init(pairedWith client: KeyFingerprint, host: any ReceptionHost) {
    identifier = .randomIdentifier()
    self.client = client
    self.host = host
    state = Condition(State())
  }

  /// Goes on with what an earlier run remembered.
  init(_ entry: TransferEntry, host: any ReceptionHost) {
    let remembered = entry.remembered
    identifier = remembered.transfer
    client = remembered.peer
    self.host = host
    var state = State(entry: entry, keys: remembered.destination?.keys, unsent: remembered.unsent)
    state.withheld = remembered.withheld
    state.withheldItems = remembered.notStored
    if let finished = remembered.done {
      state.notStored = remembered.notStored
      state.course = Course(done: finished.done)
      state.heldBefore = finished.done.total
    }
    self.state = Condition(state)
  }

  var done: Done? { state.withLock { $0.course.done } }
  var isDone: Bool { done != nil }
  var isImporting: Bool { state.withLock { $0.course.isImporting } }
  /// Why the transfer failed, if it did in this run.
  var failure: Fault? { state.withLock { $0.course.failure } }
  /// Whether nothing would be lost with it.
  var isEmpty: Bool { state.withLock { $0.isEmpty } }
  /// What is staged by now.
  var held: Tally { state.withLock { $0.held } }
  /// How many items the sender could not send.
  var unsent: UInt64 { state.withLock { $0.unsent } }
  /// What the sender left out, and what was left at the import.
  var leftOut: LeftOut { state.withLock { $0.leftOut } }
  /// Attributes of the source that were not carried, as the sender says.
  var leftBehind: [LeftBehind] { state.withLock { $0.leftBehind } }
  /// What was staged when the newest session began, as its sender was told.
  var heldBefore: Tally {
    get { state.withLock { $0.heldBefore } }
    set { state.withLock { $0.heldBefore = newValue } }
  }

  /// How far it is.
  func overall(_ phase: TransferPhase, fraction: Double? = nil) -> TransferProgress {
    let (held, total) = state.withLock { ($0.held, $0.total) }
    return TransferProgress(
      phase: phase, bytes: held.bytes, totalBytes: max(total.bytes, held.bytes), items: held.items,
      totalItems: max(total.items, held.items), phaseFraction: fraction)
  }

  /// Ends every stream and worker of the session soon.
  func halt() { state.withLock { $0.reception }?.halt() }

  /// Takes a step of the course, and wakes those who wait for one.
  func step<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    defer { state.broadcast() }
    return try state.withLock(body)
  }

  /// Ends every stream and worker of the session, and waits for them.
  func stop() { state.withLock { $0.reception }?.stop() }
}
