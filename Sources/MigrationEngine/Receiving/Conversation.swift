import MigrationWire

/// One session with a sender: its half of the conversation, and what is done for it beside that.
struct Conversation: Sendable {
  enum Life: Sendable {
    case talking
    /// The other end is gone; its streams have until a moment to judge what had come on them.
    case settling(until: Double, Fault)
    /// Its workers end; why, if not since the sender knows that all is done.
    case ending(Fault?)
  }

  /// How far the sender's offer is.
  enum Course: Sendable {
    /// There is none, or it is answered without a session.
    case none
    /// Older sessions still work.
    case waiting(Offer)
    case examining(Offer)
    /// The user is asked, and how much room there is.
    case asking(Offer, room: ReceiverEngine.Examination)
    case staging(Offer)
    /// The ledger is being told.
    case telling(StreamTable)
    /// Streams may join.
    case receiving(StreamTable)
  }

  /// How many seconds the streams have to settle, and after how many seconds progress is told again.
  static let settling = 1.0
  static let progressPause = 0.2
  /// After how many seconds at least the sender is told of the same phase of the import again.
  static let importPause = 0.1

  let transfer: TransferID
  let connection: ConnectionID
  let remote: Remote
  /// Whether the sender came back, instead of pairing.
  let isResumed: Bool
  /// Whether it is about a transfer that is done, and may go on beside another one: a receiver that stays has these.
  var isAside = false
  var life = Life.talking
  var machine: ReceiverSession
  var course = Course.none
  /// What the other device calls itself, and what it can do.
  var label = ""
  var features: Features = []
  /// What the session may use.
  var usable: Features = []
  /// How many of the transfer's named refusals the sender was told.
  var toldRefusals = 0
  /// How many marks of staged items the sender was told, less those that it has dropped.
  var droppable = 0
  /// What is to be dropped when the worker before has ended.
  var drops: [[Mark]] = []
  /// The sender has said everything, and the import is about to begin, whatever becomes of the session.
  var finish: Finish?
  private var toldImport: (phase: ImportProgress.Phase, at: Double)?
  /// Until when a sender that could say RECEIPT is waited for, once the user has stopped the run.
  var receiptUntil: Double?
  /// When the user hears again how far the receiving is.
  var nextProgress = 0.0

  init(_ transfer: TransferID, on connection: ConnectionID, from remote: Remote, isResumed: Bool, features: Features) {
    self.transfer = transfer
    self.connection = connection
    self.remote = remote
    self.isResumed = isResumed
    machine = ReceiverSession(features: features)
  }

  var isTalking: Bool { if case .talking = life { true } else { false } }
  var isEnding: Bool { if case .ending = life { true } else { false } }

  /// The data streams, once the offer is taken.
  var streams: StreamTable? {
    get {
      switch course {
      case .telling(let streams), .receiving(let streams): streams
      case .none, .waiting, .examining, .asking, .staging: nil
      }
    }
    set {
      guard let newValue else { return }
      if case .telling = course { course = .telling(newValue) } else { course = .receiving(newValue) }
    }
  }

  /// The data streams, once they may join.
  var joinable: StreamTable? { if case .receiving(let streams) = course { streams } else { nil } }

  /// When something is different without an event.
  var nextMoment: Double? {
    switch life {
    case .talking: machine.isReceiving ? nextProgress : receiptUntil
    case .settling(let deadline, _): deadline
    case .ending: nil
    }
  }

  /// Whether the sender is told of an import's progress now: of a new phase at once, and else ten times a second at most
  /// (Protocol §6.6).
  mutating func tells(_ progress: ImportProgress, now: Double) -> Bool {
    guard isTalking, machine.isImporting else { return false }
    if let toldImport, toldImport.phase == progress.phase, now < toldImport.at + Self.importPause { return false }
    toldImport = (progress.phase, now)
    return true
  }
}
