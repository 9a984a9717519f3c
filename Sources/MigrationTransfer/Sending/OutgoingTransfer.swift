import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// One transfer at the sender, over all its sessions and over restarts of the program.
final class OutgoingTransfer: Sendable {
  private struct State {
    var identifier: TransferID?
    var entry: TransferEntry?
    var label = ""
    /// What the receiver had when the newest session began, once one has told.
    var heldBefore: UInt64?
    var unsent: UInt64 = 0
    var leftOut = LeftOut()
    var leftBehind: [LeftBehind] = []
    var named = NamedItems()
    var earlier = SenderSession.Earlier.notFinished
    var streams = StreamCount.first
  }

  /// What is named as not stored since a ledger was told, as much as one session may name.
  private struct NamedItems {
    var refusals: [Refusal] = []
    private var paths: Set<ArchivePath> = []
    private var budget = NamingBudget()

    /// Takes one, and says whether it is told; `isAgain` leaves out what is here already.
    mutating func add(_ refusal: Refusal, isAgain: Bool) -> Bool {
      if isAgain, paths.contains(refusal.path) { return false }
      if budget.take(refusal.size) {
        refusals.append(refusal)
        paths.insert(refusal.path)
      }
      return true
    }
  }

  let identity: Identity
  /// The other device's key: the pin.
  let receiver: KeyFingerprint
  /// What crosses the wire in this run.
  let traffic = TrafficCount()
  private let state: Mutex<State>

  /// Begins with a pairing.
  init(_ identity: Identity, pairedWith receiver: KeyFingerprint) {
    self.identity = identity
    self.receiver = receiver
    state = Mutex(State())
  }

  /// Goes on with what an earlier run remembered.
  init(_ entry: TransferEntry) throws(TLSError) {
    let remembered = entry.remembered
    identity = try Identity(encoded: remembered.identity)
    receiver = remembered.peer
    var state = State(identifier: remembered.transfer, entry: entry, label: remembered.label)
    state.unsent = remembered.unsent
    state.named.refusals = remembered.notStored
    state.earlier = .unknown
    state.heldBefore = remembered.done?.done.total.bytes
    self.state = Mutex(state)
  }

  /// Nil until the receiver has accepted an offer.
  var identifier: TransferID? { state.withLock { $0.identifier } }
  var label: String { state.withLock { $0.label } }
  var unsent: UInt64 { state.withLock { $0.unsent } }
  /// What the last export left out; nothing is known of it in a run that only hears the answer.
  var leftOut: LeftOut { state.withLock { $0.leftOut } }
  /// The attributes that the last export found and did not carry.
  var leftBehind: [LeftBehind] { state.withLock { $0.leftBehind } }
  /// What the sessions until now have said of the end of the export.
  var earlier: SenderSession.Earlier { state.withLock { $0.earlier } }
  var heldBefore: UInt64 { state.withLock { $0.heldBefore ?? 0 } }

  /// How many data streams were found best, for the next session.
  var streams: Int {
    get { state.withLock { $0.streams } }
    set { state.withLock { $0.streams = newValue } }
  }

  func met(_ greeting: Greeting) { state.withLock { $0.label = greeting.label } }

  /// The offer is accepted: from now on the transfer can be continued, also by another run. Writes to the disk.
  func accepted(
    _ accept: Accept, _ summary: SourceSummary, origin: [[UInt8]], address: String, store: TransferStore?
  ) throws {
    let (isNew, label) = state.withLock { state in
      defer { state.identifier = accept.transfer }
      return (state.entry == nil, state.label)
    }
    guard isNew, let store else { return }
    let now = Timestamp.coarseNow().seconds
    let entry = try store.create(
      RememberedTransfer(
        transfer: accept.transfer, role: .sender, identity: try identity.encoded(), peer: receiver, label: label,
        address: address, started: now, lastSeen: now, total: summary.total, held: Tally(), subject: .sources(origin)))
    state.withLock { $0.entry = entry }
  }

  /// A session has told what is held.
  func held(_ tally: Tally) {
    state.withLock { state in
      state.heldBefore = tally.bytes
      // It is all named again.
      state.named = NamedItems()
    }
  }

  /// An item is named as not stored; whether the user is to hear of it. `isAgain` says that an earlier session may have named it.
  @discardableResult
  func note(_ refusal: Refusal, isAgain: Bool = false) -> Bool {
    state.withLock { $0.named.add(refusal, isAgain: isAgain) }
  }

  /// All is sent but so many items. A run that only hears the answer must know it, too.
  func finishing(_ finish: Finish) {
    let entry = state.withLock { state in
      state.unsent = finish.unsent
      state.leftOut = finish.leftOut
      state.leftBehind = finish.leftBehind
      state.earlier = .finished(finish.total)
      return state.entry
    }
    try? entry?.update { $0.unsent = finish.unsent }
  }

  /// The receiver has said that all is done. Durable when it returns, if the disk lets it.
  func finished(_ done: Done) {
    traffic.end()
    // A run that only hears the answer has nothing to send.
    state.withLock { $0.heldBefore = $0.heldBefore ?? done.total.bytes }
    let (entry, notStored) = state.withLock { ($0.entry, $0.named.refusals) }
    try? entry?.finish(done, notStored: notStored)
  }

  /// What the receiver said in a run that was killed before it could tell its user.
  var done: Done? { state.withLock { $0.entry?.remembered.done?.done } }
  /// What is named as not stored, by this run or by the one that remembered the transfer.
  var notStored: [Refusal] { state.withLock { $0.named.refusals } }

  /// A session is over; notes how far it came, for those who list what is unfinished.
  func sessionEnded(arrived: Tally, total: Tally, address: String) {
    try? state.withLock { $0.entry }?.update { remembered in
      if arrived != Tally() { remembered.held = arrived }
      remembered.total = total
      remembered.address = address
      remembered.lastSeen = Timestamp.coarseNow().seconds
    }
  }

  /// It is done, or the other device no longer knows it.
  func forget() {
    let entry = state.withLock { state in
      defer { state.entry = nil }
      return state.entry
    }
    try? entry?.remove()
  }
}
