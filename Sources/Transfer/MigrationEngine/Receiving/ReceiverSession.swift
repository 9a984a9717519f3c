import MigrationWire

/// One session with a sender: the receiver's side of the conversation, and the session's other
/// work.
struct ReceiverSession: Sendable {
  enum Life: Sendable {
    case talking
    /// The connection to the sender has ended. Until a moment, the streams judge the data that had
    /// arrived on them.
    case settling(until: Double, Failure)
    /// Its workers end. The fault is the reason; nil where the sender knows that the transfer is
    /// done.
    case ending(Failure?)
  }

  /// The progress of the sender's plan, and of the part that it has offered.
  enum Stage: Sendable {
    /// This end has nothing to do.
    case none
    /// Workers of older sessions still run.
    case waiting(Plan)
    case judgingPlan(Plan)
    /// The user is asked for consent, and sees how much room there is.
    case asking(Plan, ReceiverEngine.PlanJudgement, Consent)
    case recording(Plan)
    /// An import, or a worker of the part before, still runs.
    case due(PartTotals)
    case staging(PartTotals)
  }

  /// How many seconds the streams have to settle, and the pause in seconds between two reports of
  /// progress.
  static let settling = 1.0
  static let progressPause = 0.2
  /// The least number of seconds between two reports to the sender of the same phase of the import.
  static let importPause = 0.1

  private(set) var transfer: TransferID
  /// The name of a transfer that the sender may begin instead.
  private let spare: TransferID
  let connection: ConnectionID
  let remote: Remote
  /// Whether the sender came back, instead of pairing.
  let isResumed: Bool
  /// Whether the sender is a known device, which has one key for all of its transfers.
  let isOfDevice: Bool
  /// Whether the pairing is kept from now on.
  var keepsPairing = false
  /// Whether the session is about a finished transfer, and may continue beside another transfer:
  /// only a receiver that stays has such sessions.
  var isAside = false
  var life = Life.talking
  var conversation = Conversation(of: .receiver)
  var stage = Stage.none
  /// The other device's label and features.
  var label = ""
  var features: Features = []
  /// The session's name, once the verdict has told it.
  var identifier: SessionID = 0
  /// The data streams, from the end of the first ledger on.
  var streams: StreamTable?
  /// When this end tries the sender's addresses.
  var rounds = DirectRounds()
  /// The streams that do not pass the relay of the session.
  var direct: Set<ConnectionID> = []
  /// Whether the user knows that data does not pass the relay.
  var isDirectTold = false
  /// How many of the transfer's named refusals the sender has been sent.
  var toldRefusals = 0
  /// How many marks of staged items the sender was sent, minus those that it has dropped.
  var droppable = 0
  /// Whether the sender may drop marks of the destination, too.
  var namesAbsent = false
  /// The marks to drop when the previous worker has ended.
  var drops: [[Mark]] = []
  /// The sender's FINISH: the import is about to begin, even if the session ends.
  var finish: Finish?
  private var toldImport: (phase: ImportProgress.Phase, at: Double)?
  /// Until when the receiver waits for RECEIPT after the user has stopped the run.
  var receiptUntil: Double?
  /// Since when the sender has something to do: to send its plan or the next offer, to read the
  /// ledger, to send data.
  var dueSince: Double
  /// When the user next sees the progress of the transfer.
  var nextProgress = 0.0

  init(
    _ transfer: TransferID, orElse spare: TransferID = 0, on connection: ConnectionID, from remote: Remote,
    isOfDevice: Bool = false, isResumed: Bool, now: Double
  ) {
    self.transfer = transfer
    self.spare = spare
    self.connection = connection
    self.remote = remote
    self.isResumed = isResumed
    self.isOfDevice = isOfDevice
    dueSince = now
  }

  var isTalking: Bool { if case .talking = life { true } else { false } }
  var isEnding: Bool { if case .ending = life { true } else { false } }

  /// The next moment at which something changes without an event.
  var nextMoment: Double? {
    switch life {
    case .talking: conversation.isStreaming ? nextProgress : receiptUntil
    case .settling(let deadline, _): deadline
    case .ending: nil
    }
  }

  /// Whether the sender waits for the end of the import of a part.
  func waitsForImport(of part: UInt16) -> Bool {
    if case .due(let totals) = stage { return totals.part == part }
    return conversation.isFinishing
  }

  /// Another transfer begins; returns its name.
  mutating func beginTransfer() -> TransferID {
    transfer = spare
    return transfer
  }

  /// The transfer that the sender means with its plan, of those that it may have begun with its key;
  /// nil if that is the session's one.
  func meant(by plan: Plan, insteadOf current: IncomingTransfer) -> TransferID? {
    guard isOfDevice else { return nil }
    if let named = plan.transfer { return named == transfer ? nil : named }
    return current.isEmpty ? nil : spare
  }

  /// The session is about another transfer of its sender.
  mutating func turn(to other: TransferID) {
    transfer = other
    (isAside, receiptUntil) = (false, nil)
  }

  /// Another part begins.
  mutating func beginPart() {
    (toldRefusals, droppable, drops, finish, toldImport) = (0, 0, [], nil, nil)
  }

  /// Whether to report an import's progress to the sender now: a new phase at once, and otherwise
  /// at most ten times a second (Protocol §6.6).
  mutating func tells(_ progress: ImportProgress, now: Double) -> Bool {
    guard isTalking, conversation.isFinishing else { return false }
    if let toldImport, toldImport.phase == progress.phase, now < toldImport.at + Self.importPause { return false }
    toldImport = (progress.phase, now)
    return true
  }
}
