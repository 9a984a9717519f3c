import MigrationWire

extension SenderEngine {
  /// Where a run is. The walk of the source goes on beside all of them.
  enum Phase: Sendable {
    /// The first event has not come. Leads to lookingUp.
    case idle
    /// It is found out whether an earlier run has begun this. Leads to looking, probing, dialing, finishing.
    case lookingUp
    /// Devices are looked for: to pair with one, or for the transfer of a plan. Leads to choosing, probing, dialing, waiting,
    /// finishing.
    case looking(DialPlan?)
    /// The user says which of several devices is meant. Leads to probing, finishing.
    case choosing([Nearby])
    /// It is found out whether anything listens at the target, before the user is asked for anything. Leads to askingCode,
    /// finishing.
    case probing
    /// Leads to deriving, finishing.
    case askingCode
    /// The code's secret is computed. Leads to dialing, finishing.
    case deriving
    /// Leads to conversing, waiting, looking, choosing, probing, finishing; to itself where another transfer is sought.
    case dialing(DialPlan)
    /// Between two dials. Leads to dialing, finishing.
    case waiting(DialPlan, until: Double)
    /// A session goes on, which that dial led to. Leads to closing.
    case conversing(SenderConversation, DialPlan)
    /// The last words of a session are said, and its workers end. Leads to counting, waiting, finishing.
    case closing(SessionEnd)
    /// It is read how far a session came. Leads to waiting, finishing.
    case counting(SessionEnd)
    /// The result is known, and what still goes on is waited for. Leads to over.
    case finishing(Result<TransferResult, TransferFailure>)
    case over
  }

  /// A session that is over.
  struct SessionEnd: Sendable {
    let session: SessionNumber
    let connection: ConnectionID
    /// The receiver's, for the next run.
    let address: String
    /// Whether it had come as far as the export.
    let hasExported: Bool
    let outcome: Outcome
    /// What had led to it.
    let plan: DialPlan
    /// Shortens the next pause: from 0 to 1, random.
    var spread = 0.0

    var isDone: Bool { if case .done = outcome { true } else { false } }

    enum Outcome: Sendable {
      case done(TransferID, TransferResult)
      case failed(Fault)
    }
  }

  /// Goes on with what needs no event but time, or only the end of work; whether anything was to be done.
  mutating func moveOn(_ now: Double, _ actions: inout [Action]) -> Bool {
    if let curfew, now >= curfew { return endAtCurfew(now, &actions) }
    switch phase {
    case .waiting(let plan, let moment) where now >= moment:
      dial(plan, &actions)
    case .conversing(var conversation, let plan):
      guard conversation.moveOn(now, &actions) else { return false }
      phase = .conversing(conversation, plan)
    // A user who has stopped the run waits for the end of the session and for that of the run at a time.
    case .closing(let end) where end.isDone && curfew != nil:
      decide(after: end, hasProgressed: true, now, &actions)
    case .closing(let end) where !work.isGoingOn(end.session) && !work.isOpen(end.connection):
      count(end, now, &actions)
    case .finishing(let result) where work.isEmpty:
      finish(result, &actions)
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting, .closing,
      .counting, .finishing,
      .over:
      return false
    }
    return true
  }
}
