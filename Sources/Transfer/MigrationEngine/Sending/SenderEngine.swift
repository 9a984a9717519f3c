package import MigrationWire

/// Makes all decisions of a sender: how to reach the receiver, how sessions proceed, how many
/// streams there are, when to give up (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct SenderEngine: Engine {
  /// The facts from which the engine starts: the options of the user that concern it, and what this
  /// device and the source can do.
  package struct Settings: Equatable, Sendable {
    /// This device's label and features.
    package var greeting: Greeting
    /// The target, for people; nil where the sender looks for the receiver.
    package var target: String?
    /// How many data streams carry the archive; nil for the number that works best.
    package var streams: UInt32?
    /// For how many seconds the sender tries to restore a lost connection.
    package var giveUpAfter: Double
    /// When to compress. A user who has asked for compression is told if there is none.
    package var compression = CompressionPreference.auto
    /// Whether this device can compress.
    package var canCompress = true
    /// The additional seconds that the source's workers may take to end.
    package var graceAtTheEnd = 0.0

    /// Whether to keep the pairing with a receiver that wants that too.
    package var keepsPairing = false
    /// Whether the receiver is known from the pairing on, also if it takes nothing.
    package var expectsReceiver = false

    /// Whether to wait for a receiver that serves others first.
    package var waitsInLine = true
    /// Whether the receiver may wait at a relay if it is not in this network.
    package var hasRelay = false

    /// Whether to look for the receiver.
    var looksAround: Bool { target == nil }

    package init(greeting: Greeting, target: String?, streams: UInt32? = nil, giveUpAfter: Double) {
      self.greeting = greeting
      self.target = target
      self.streams = streams
      self.giveUpAfter = giveUpAfter
    }
  }

  var phase = Phase.idle
  var facts: Facts
  var work = PendingWork()
  /// The reason for an end without failure or success: the user's stop, or a source with nothing to
  /// send. The first reason counts.
  var abandoned: Failure?
  /// When the run ends, even if work remains. Forgetting a finished transfer has no such limit,
  /// unless the user has stopped the run.
  var endDeadline: Double?
  /// The user's stop, and until when it waits for the record of a plan.
  private var postponedStop: (kind: Failure.Kind, until: Double)?
  private var lastSession: UInt64 = 0

  package init(_ settings: Settings) { facts = Facts(settings) }

  var settings: Settings { facts.settings }
  var now: Double { facts.now }

  mutating func act(_ action: Action) { facts.act(action) }

  /// Handles an event and returns the actions, in their order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] {
    guard work.expects(event) else { return [] }
    work.end(event)
    if case .over = phase { return [] }
    facts.now = now
    var actions = work.release(after: event)
    react(to: event)
    // The consequences that need no other event.
    repeat {
      actions += work.begin(facts.actions)
      facts.actions = []
    } while moveOn()
    return actions
  }

  /// The next moment at which something may change without an event.
  package var nextMoment: Double? {
    switch phase {
    case .waiting(_, let moment): moment
    case .inSession(let session, _):
      [session.nextMoment, endDeadline, postponedStop?.until].compactMap { $0 }.min()
    case .closing, .counting, .finishing: endDeadline
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .over: nil
    }
  }

  /// How many workers have begun and not ended.
  package var runningWorkers: Int { work.workers }

  /// A number for a session that begins.
  mutating func nextSession() -> SessionNumber {
    lastSession += 1
    return SessionNumber(lastSession)
  }

  private mutating func react(to event: Event) {
    switch event {
    case .begin: begin()
    case .walked(let result): walked(result)
    case .lookedUp(let result, let devices): lookedUp(result, devices)
    case .found(let result, let spread): found(result, spread)
    case .chosen(let result): chosen(result)
    case .probed(let result): probed(result)
    case .codeEntered(let result): codeEntered(result)
    case .derived(let fault): derived(fault)
    case .stop(let kind):
      // Without a record of what the receiver may have recorded, the next run would need a new code.
      guard isBeginningTransfer, postponedStop == nil else { return stop(kind) }
      postponedStop = (kind, now + EndLimits.plan)
      setEndDeadline()
    case .forgotten: abandon(.forgotten)
    case .timePassed, .noted: break
    case .forgot: forgot()
    case .dialing(let first): dialing(first)
    case .dialed(.success(let meeting), _): met(meeting)
    case .dialed(.failure(let failure), let spread): unmet(failure, spread)
    case .closed(_, let spread): closed(spread)
    case .window(_, let counts): counted(counts)
    case .broke(_, let fault): breakOff(fault)
    case .received, .drained, .unsent, .exported, .planRecorded, .finishNoted, .streamJoined,
      .streamEnded, .recorded:
      converse { (session, facts) throws(Failure) in try session.take(event, &facts) }
    }
  }

  /// Whether the sender may compress data in transit, as far as both devices and the exporter allow
  /// it.
  package enum CompressionPreference: String, Sendable {
    /// Where it makes the transfer faster.
    case auto
    /// All data that becomes smaller by it.
    case always
    case never
  }
}

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
    /// Leads to inSession, waiting, looking, choosing, probing, finishing; to itself when the
    /// sender tries another transfer.
    case dialing(DialPlan)
    /// Between two dials. Leads to dialing, finishing.
    case waiting(DialPlan, until: Double)
    /// A session is running, and the plan of the dial that led to it. Leads to closing.
    case inSession(SenderSession, DialPlan)
    /// The last messages of a session are being sent, and its workers end. Leads to counting,
    /// waiting, finishing.
    case closing(SessionEnd)
    /// The progress of the ended session is being read. Leads to waiting, finishing.
    case counting(SessionEnd)
    /// The result is known, and the run waits for the remaining work. Leads to over.
    case finishing(TransferOutcome)
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

    var isOver: Bool { if case .over = outcome { true } else { false } }

    enum Outcome: Sendable {
      /// Every part has its result.
      case over(TransferOutcome)
      case failed(Failure)
    }
  }

  /// Whether the receiver may have recorded a plan that this device has not.
  private var isBeginningTransfer: Bool {
    guard case .inSession(let session, _) = phase else { return false }
    return session.awaitsPlan && facts.transfer.identifier == nil
  }

  /// Does the work that only waits for time or for the end of other work; returns whether there was
  /// any.
  mutating func moveOn() -> Bool {
    // First: only then the end has its reason, also where a sleeping device has missed both moments.
    if let (kind, moment) = postponedStop, now >= moment || !isBeginningTransfer {
      postponedStop = nil
      stop(kind)
      return true
    }
    if let endDeadline, now >= endDeadline { return endAtDeadline() }
    switch phase {
    case .waiting(let plan, let moment) where now >= moment:
      dial(plan)
    case .inSession:
      converse { (session, facts) throws(Failure) in try session.moveOn(&facts) }
      return !facts.actions.isEmpty
    // After the user has stopped the run, the ends of the session and of the run share one
    // deadline.
    case .closing(let end) where end.isOver && endDeadline != nil:
      decide(after: end, hasProgressed: true)
    case .closing(let end) where !work.isGoingOn(end.session) && !work.isOpen(end.connection):
      count(end)
    case .finishing(let result) where work.isEmpty:
      finish(result)
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting, .closing,
      .counting, .finishing,
      .over:
      return false
    }
    return true
  }
}
