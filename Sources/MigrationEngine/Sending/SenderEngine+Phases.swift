import MigrationWire

extension SenderEngine {
  /// The phase of a run. The walk of the source runs beside all of them.
  enum Phase: Sendable {
    /// Before the first event. Leads to lookingUp.
    case idle
    /// A worker looks for a transfer of an earlier run. Leads to looking, probing, dialing,
    /// finishing.
    case lookingUp
    /// A worker looks for devices: to pair with one, or for the transfer of a plan. Leads to
    /// choosing, probing, dialing, waiting, finishing.
    case looking(DialPlan?)
    /// The user chooses one of several devices. Leads to probing, finishing.
    case choosing([DeviceAddress])
    /// A worker checks whether anything listens at the target, before the user is asked for
    /// anything. Leads to askingCode, finishing.
    case probing
    /// Leads to deriving, finishing.
    case askingCode
    /// A worker computes the code's secret. Leads to dialing, finishing.
    case deriving
    /// Leads to conversing, waiting, looking, choosing, probing, finishing; to itself when the
    /// sender tries another transfer.
    case dialing(DialPlan)
    /// Between two dials. Leads to dialing, finishing.
    case waiting(DialPlan, until: Double)
    /// A session is running, and the plan of the dial that led to it. Leads to closing.
    case conversing(SenderConversation, DialPlan)
    /// The last messages of a session are being sent, and its workers end. Leads to counting,
    /// waiting, finishing.
    case closing(SessionEnd)
    /// The progress of the ended session is being read. Leads to waiting, finishing.
    case counting(SessionEnd)
    /// The result is known, and the run waits for the remaining work. Leads to over.
    case finishing(Result<TransferResult, TransferFailure>)
    case over
  }

  /// A session that has ended.
  struct SessionEnd: Sendable {
    let session: SessionNumber
    let connection: ConnectionID
    /// The receiver's address, for the next run.
    let address: String
    /// Whether the session had reached the export.
    let hasExported: Bool
    let outcome: Outcome
    /// The plan that had led to it.
    let plan: DialPlan
    /// A random number from 0 to 1, which shortens the next pause.
    var spread = 0.0

    var isDone: Bool { if case .done = outcome { true } else { false } }

    enum Outcome: Sendable {
      case done(TransferID, TransferResult)
      case failed(Fault)
    }
  }

  /// Does the work that only waits for time or for the end of other work; returns whether there was
  /// any.
  mutating func moveOn(_ now: Double, _ actions: inout [Action]) -> Bool {
    if let curfew, now >= curfew { return endAtCurfew(now, &actions) }
    switch phase {
    case .waiting(let plan, let moment) where now >= moment:
      dial(plan, &actions)
    case .conversing(var conversation, let plan):
      guard conversation.moveOn(now, &actions) else { return false }
      phase = .conversing(conversation, plan)
    // After the user has stopped the run, the ends of the session and of the run share one
    // deadline.
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
