import MigrationWire

/// The receiver's record of one transfer, over all its sessions.
struct IncomingTransfer: Sendable {
  enum Stage: Sendable {
    /// Leads to importing.
    case receiving
    /// Everything has arrived, and an import that had begun is to continue. Leads to importing.
    case concluded
    /// The receiver verifies and imports what one session, or an earlier run, concluded. Leads to
    /// done, to receiving before the import begins, or to concluded where the import failed and
    /// this receiver stays.
    case importing
    case done(Done)
  }

  /// Whether this process holds the transfer's lock, its staged data and its keys.
  enum Keeping: Sendable {
    case held
    /// This process has released it; it exists only on the disk. Leads to retaking.
    case released
    /// Leads to held, or to released.
    case retaking
  }

  let identifier: TransferID
  /// The sender's key: the pin.
  let client: KeyFingerprint
  var stage = Stage.receiving
  var keeping = Keeping.held
  /// Whether more may be staged than this run knows, because it could not take the transfer back so
  /// far.
  private var isUnseen = false
  /// The reason why no session of this run may continue it.
  var fault: Fault?
  /// When the import last made progress.
  var movedAt = 0.0
  /// The roots of the first offer, or the app.
  var contents: Offer.Contents?
  /// Whether there is a staging directory.
  var isStaged = false
  var held = Tally()
  /// How much was staged when the newest session began, as reported to its sender.
  var heldBefore = Tally()
  /// The total that the newest offer announces, or the data that has arrived.
  var total = ExpectedTotal()
  /// How many items the sender could not send.
  var unsent: UInt64 = 0
  /// The items that the sender left out, and those left out at the import.
  var leftOut = LeftOut()
  var leftBehind: [LeftBehind] = []
  /// The named items that the destination cannot hold, and how many of them the user of this device
  /// has been told.
  var refusals: [Refusal] = []
  var toldRefusals = 0
  /// The items that the sender has left out in the newest session because the destination cannot
  /// hold them.
  var withheldItems: [Refusal] = []
  /// The items named as not stored after the import, and whether this run has told the user of this
  /// device.
  private var notStored: [Refusal] = []
  private var isNotStoredTold = false
  /// When an earlier run had finished it.
  private var concludedAt: Int64?
  /// The data that crossed the wire in this run.
  var traffic = Traffic()

  /// Begins with a pairing.
  init(_ identifier: TransferID, pairedWith client: KeyFingerprint) {
    self.identifier = identifier
    self.client = client
  }

  /// Continues a transfer of an earlier run.
  init(_ known: ReceiverEngine.KnownTransfer) {
    identifier = known.identifier
    client = known.client
    contents = known.contents
    isStaged = known.isStaged
    held = known.held
    heldBefore = known.held
    unsent = known.unsent
    refusals = known.refusals
    withheldItems = known.notStored
    keeping = known.isHeld ? .held : .released
    isUnseen = !known.isHeld
    switch known.standing {
    case .receiving: break
    case .concluded(let total):
      stage = .concluded
      self.total = ExpectedTotal(total)
    case .done(let done):
      stage = .done(done)
      notStored = known.notStored
      concludedAt = known.lastSeen
      heldBefore = done.total
    }
  }

  var isImporting: Bool { if case .importing = stage { true } else { false } }
  var isReceiving: Bool { if case .receiving = stage { true } else { false } }
  var isDone: Bool { if case .done = stage { true } else { false } }
  /// Whether it is neither done nor being imported.
  var awaitsData: Bool { !isImporting && !isDone }

  /// Whether discarding it would lose nothing.
  var isEmpty: Bool { isReceiving && held == Tally() && !isUnseen }

  /// The result for the user.
  func result(_ done: Done) -> TransferResult {
    TransferResult(
      total: done.total, sentBytes: traffic.sent, savedBytes: traffic.saved,
      heldBytes: min(heldBefore.bytes, done.total.bytes), seconds: traffic.seconds, unsent: unsent,
      losses: done.losses, leftOut: leftOut, notStored: done.notStored, leftBehind: leftBehind,
      concludedAt: concludedAt)
  }

  /// The reason why an offer does not continue this transfer; nil if it does, or begins it.
  func objection(to offer: Offer) -> Fault? {
    guard offer.transfer == nil || offer.transfer == identifier else { return .unknownTransfer }
    guard let contents, !contents.isSame(as: offer.contents) else { return nil }
    return Fault(Violation(.conflict, "an offer of other roots than at first"))
  }

  /// A stream or a session has ended: at least this much is staged.
  mutating func note(held: Tally) {
    // The ends of parallel streams may be reported in another order than their counts.
    self.held = Tally(items: max(self.held.items, held.items), bytes: max(self.held.bytes, held.bytes))
  }

  /// The import is complete: nothing more is refused, and the user knows every named item. Items
  /// that the source no longer has are not among the refused ones.
  mutating func imported(_ done: Done, _ refused: [Refusal]) {
    stage = .done(done)
    notStored = (refused + withheldItems).nameable
    isNotStoredTold = true
  }

  /// Returns every item named as not stored, for a sender whose offer is answered by DONE, and
  /// whether the user of this device is to be told, because this run has not done so.
  mutating func nameAgain() -> (named: [Refusal], isNews: Bool) {
    defer { isNotStoredTold = true }
    return (notStored, !isNotStoredTold)
  }

  /// The refusals that the user of this device has not been told; from now on they count as told.
  mutating func newRefusals() -> ArraySlice<Refusal> {
    defer { toldRefusals = refusals.count }
    return refusals[toldRefusals...]
  }
}

/// The transfers that may be continued here, and the current one, in their order of arrival; and
/// the remaining tasks for the store about them.
struct IncomingTransfers: RandomAccessCollection, Sendable {
  private var all: [IncomingTransfer] = []
  /// The transfers whose import an earlier run began, to be continued once this one listens: one,
  /// or all in turn if the receiver stays.
  private var concluded: [TransferID] = []
  /// The last transfer whose pairing used a code of this wait.
  private var paired: TransferID?
  /// Done one at a time.
  private var tasks: [ReceiverEngine.Action] = []

  init() {}

  /// Begins with the transfers of earlier runs, newest first.
  init(_ known: [ReceiverEngine.KnownTransfer], keeps: Bool) {
    all = known.map { IncomingTransfer($0) }
    // The most recently finished transfers are forgotten last.
    if keeps { all.reverse() }
    let begun = known.filter(\.isConcluded).map(\.identifier)
    concluded = keeps ? begun : Array(begun.prefix(1))
  }

  var startIndex: Int { all.startIndex }
  var endIndex: Int { all.endIndex }
  subscript(index: Int) -> IncomingTransfer { all[index] }

  /// The transfer with an identifier. A new value replaces only a transfer that is here.
  subscript(of identifier: TransferID) -> IncomingTransfer? {
    get { all.first { $0.identifier == identifier } }
    set {
      guard let newValue, let index = all.firstIndex(where: { $0.identifier == identifier }) else { return }
      all[index] = newValue
    }
  }

  /// The last transfer of a known sender.
  subscript(from client: KeyFingerprint?) -> IncomingTransfer? { all.last { $0.client == client } }

  /// Whether an import of an earlier run is still to be continued.
  func isToBeContinued(_ identifier: TransferID) -> Bool { concluded.contains(identifier) }

  /// The next import of an earlier run to continue.
  mutating func takeConcluded() -> TransferID? { concluded.isEmpty ? nil : concluded.removeFirst() }

  /// A newly paired sender's transfer begins and replaces the transfers of which nothing has
  /// arrived.
  mutating func begin(_ identifier: TransferID, pairedWith client: KeyFingerprint) {
    tasks += all.filter(\.isEmpty).map { .discard($0.identifier) }
    all.removeAll(where: \.isEmpty)
    all.append(IncomingTransfer(identifier, pairedWith: client))
    paired = identifier
  }

  /// A transfer has ended. Returns whether it has brought data and its sender has paired in this
  /// wait, which ends with it.
  mutating func endWait(of identifier: TransferID) -> Bool {
    guard paired == identifier, self[of: identifier]?.isEmpty == false else { return false }
    paired = nil
    return true
  }

  // MARK: The store

  var hasTasks: Bool { !tasks.isEmpty }

  /// The next task. A transfer is discarded once no session is about it.
  mutating func takeTask(busy: Set<TransferID>) -> ReceiverEngine.Action? {
    let index = tasks.firstIndex { if case .discard(let transfer) = $0 { !busy.contains(transfer) } else { true } }
    return index.map { tasks.remove(at: $0) }
  }

  /// Has the progress of a transfer recorded.
  mutating func note(_ identifier: TransferID) { tasks.append(.note(identifier)) }

  /// The sender knows that a transfer is done.
  mutating func forget(_ identifier: TransferID, keeps: Bool) {
    tasks.append(.forget(identifier))
    if keeps { all.removeAll { $0.identifier == identifier } }
  }

  /// A session acts on a transfer: takes it back if it was released.
  mutating func retake(_ identifier: TransferID) {
    guard self[of: identifier]?.keeping == .released else { return }
    self[of: identifier]?.keeping = .retaking
    tasks.append(.retake(identifier))
  }

  /// An import has failed, and its sender is back before the transfer was released: it continues
  /// from the disk, like a released transfer.
  mutating func takeAnew(_ identifier: TransferID) {
    self[of: identifier]?.letGo()
    self[of: identifier]?.keeping = .retaking
    tasks += [.release(identifier), .retake(identifier)]
  }

  /// Releases transfers, and forgets the oldest finished ones that no session is about.
  mutating func release(_ resting: [TransferID], busy: Set<TransferID>) {
    for identifier in resting {
      self[of: identifier]?.letGo()
      tasks.append(.release(identifier))
    }
    all.removeAll { $0.keeping == .released && $0.fault?.code == .unknownTransfer }
    let done = all.filter { $0.isDone && $0.keeping == .released }.map(\.identifier)
    let old = done.prefix(Swift.max(0, done.count - ReceiverEngine.rememberedDone)).filter { !busy.contains($0) }
    if !old.isEmpty { all.removeAll { old.contains($0.identifier) } }
  }
}

extension IncomingTransfer {
  /// From now on, the transfer exists only on the disk, and an attempt that failed may succeed the
  /// next time. The names of a finished transfer's items that are not stored are remembered,
  /// for a sender that asks again.
  fileprivate mutating func letGo() {
    keeping = .released
    if fault?.code != .unknownTransfer { fault = nil }
    (refusals, toldRefusals, withheldItems) = ([], 0, [])
  }
}

extension ReceiverEngine.KnownTransfer {
  /// Whether everything had arrived and the import is incomplete.
  var isConcluded: Bool { if case .concluded = standing { true } else { false } }
}

extension Offer.Contents {
  /// Whether both have the same roots, by name, or the same app from the same platform and store. A
  /// root may have changed its type, and the app its version.
  fileprivate func isSame(as other: Offer.Contents) -> Bool {
    switch (self, other) {
    case (.folders(let one), .folders(let two)): one.map(\.name) == two.map(\.name)
    case (.app(let one), .app(let two)):
      one.bundleIdentifier == two.bundleIdentifier && one.platform == two.platform && one.store == two.store
    case (.folders, .app), (.app, .folders): false
    }
  }
}
