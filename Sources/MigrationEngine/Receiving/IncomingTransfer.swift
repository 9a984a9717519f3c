import MigrationWire

/// One transfer at the receiver, over all its sessions: what is known of it here.
struct IncomingTransfer: Sendable {
  enum Stage: Sendable {
    /// Leads to importing.
    case receiving
    /// Everything has arrived, and an import was begun that is to go on. Leads to importing.
    case concluded
    /// What one session concluded, or an earlier run, is verified and imported. Leads to done, to receiving before that
    /// begins, or to concluded where it failed and this receiver stays.
    case importing
    case done(Done)
  }

  /// Whether this process has what belongs to it: its lock, what is staged, its keys.
  enum Keeping: Sendable {
    case held
    /// It was let go, and is on the disk alone. Leads to retaking.
    case released
    /// Leads to held, or to released.
    case retaking
  }

  let identifier: TransferID
  /// The sender's key: the pin.
  let client: KeyFingerprint
  var stage = Stage.receiving
  var keeping = Keeping.held
  /// Whether more may be staged than is known here: this run could not take it back so far.
  private var isUnseen = false
  /// Why no session of this run may go on with it.
  var fault: Fault?
  /// When the import got on last.
  var movedAt = 0.0
  /// The roots of the first offer, or the app.
  var contents: Offer.Contents?
  /// Whether there is a staging directory.
  var isStaged = false
  var held = Tally()
  /// What was staged when the newest session began, as its sender was told.
  var heldBefore = Tally()
  /// What the newest offer announces, or what has arrived.
  var total = ExpectedTotal()
  /// How many items the sender could not send.
  var unsent: UInt64 = 0
  /// What the sender left out, and what was left at the import.
  var leftOut = LeftOut()
  var leftBehind: [LeftBehind] = []
  /// What the destination cannot hold, by name, and how many of these this device's user has heard of.
  var refusals: [Refusal] = []
  var toldRefusals = 0
  /// What the sender has left out in the newest session, since the destination cannot hold it.
  var withheldItems: [Refusal] = []
  /// What is named as not stored, once all is imported, and whether this device's user has heard of it in this run.
  private var notStored: [Refusal] = []
  private var isNotStoredTold = false
  /// What crossed the wire in this run.
  var traffic = Traffic()

  /// Begins with a pairing.
  init(_ identifier: TransferID, pairedWith client: KeyFingerprint) {
    self.identifier = identifier
    self.client = client
  }

  /// Goes on with what an earlier run left.
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
      heldBefore = done.total
    }
  }

  var isImporting: Bool { if case .importing = stage { true } else { false } }
  var isReceiving: Bool { if case .receiving = stage { true } else { false } }
  var isDone: Bool { if case .done = stage { true } else { false } }
  /// Whether no import of it goes on, and it is not done.
  var awaitsData: Bool { !isImporting && !isDone }

  /// Whether nothing would be lost with it.
  var isEmpty: Bool { isReceiving && held == Tally() && !isUnseen }

  /// What it came to.
  func result(_ done: Done) -> TransferResult {
    TransferResult(
      total: done.total, sentBytes: traffic.sent, savedBytes: traffic.saved,
      heldBytes: min(heldBefore.bytes, done.total.bytes), seconds: traffic.seconds, unsent: unsent,
      losses: done.losses, leftOut: leftOut, notStored: done.notStored, leftBehind: leftBehind)
  }

  /// Why an offer does not continue this transfer; nil if it does, or begins it.
  func objection(to offer: Offer) -> Fault? {
    guard offer.transfer == nil || offer.transfer == identifier else { return .unknownTransfer }
    guard let contents, !contents.isSame(as: offer.contents) else { return nil }
    return Fault(Violation(.conflict, "an offer of other roots than at first"))
  }

  /// A stream or a session has ended: so much is staged at least.
  mutating func note(held: Tally) {
    // Streams that end side by side may be heard of in another order than they counted in.
    self.held = Tally(items: max(self.held.items, held.items), bytes: max(self.held.bytes, held.bytes))
  }

  /// All is imported: nothing more is refused, and the user knows of everything that is named. What the source had no more is not
  /// among what was refused.
  mutating func imported(_ done: Done, _ refused: [Refusal]) {
    stage = .done(done)
    notStored = (refused + withheldItems).nameable
    isNotStoredTold = true
  }

  /// Everything that is named as not stored, for a sender whose offer is answered by DONE; and whether this device's user is
  /// to hear of it, since this run has not told it.
  mutating func nameAgain() -> (named: [Refusal], isNews: Bool) {
    defer { isNotStoredTold = true }
    return (notStored, !isNotStoredTold)
  }

  /// The refusals that this device's user has not heard of; they count as told.
  mutating func newRefusals() -> ArraySlice<Refusal> {
    defer { toldRefusals = refusals.count }
    return refusals[toldRefusals...]
  }
}

extension [IncomingTransfer] {
  /// The transfer of an identifier.
  subscript(of identifier: TransferID) -> IncomingTransfer? {
    get { first { $0.identifier == identifier } }
    set {
      guard let newValue, let index = firstIndex(where: { $0.identifier == identifier }) else { return }
      self[index] = newValue
    }
  }
}

extension Offer.Contents {
  /// Whether these are the same roots, by name, or the same app from the same platform and store. A root may have become
  /// something else, and the app another version.
  fileprivate func isSame(as other: Offer.Contents) -> Bool {
    switch (self, other) {
    case (.folders(let one), .folders(let two)): one.map(\.name) == two.map(\.name)
    case (.app(let one), .app(let two)):
      one.bundleIdentifier == two.bundleIdentifier && one.platform == two.platform && one.store == two.store
    case (.folders, .app), (.app, .folders): false
    }
  }
}
