package import MigrationWire

/// Decides everything that a sender does: how it reaches the receiver, what becomes of a session, how many streams there are, when
/// it gives up (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct SenderEngine: Sendable {
  package struct Settings: Sendable {
    /// What this device is called, and what it can do.
    package var greeting: Greeting
    /// The target, for people; nil where the receiver is to be looked for.
    package var target: String?
    /// How many data streams carry the archive; nil for as many as help.
    package var streams: UInt32?
    /// For how many seconds a lost connection is tried again.
    package var giveUpAfter: Double
    /// Whether the user has asked for compression, so that it matters if there is none.
    package var wantsCompression = false
    /// Whether this device can compress.
    package var canCompress = true
    /// How many seconds more than others the source's workers may take to end.
    package var graceAtTheEnd = 0.0

    /// Whether the receiver is to be looked for.
    var looksAround: Bool { target == nil }

    package init(greeting: Greeting, target: String?, streams: UInt32? = nil, giveUpAfter: Double) {
      self.greeting = greeting
      self.target = target
      self.streams = streams
      self.giveUpAfter = giveUpAfter
    }
  }

  var phase = Phase.idle
  var facts: RunFacts
  var work = PendingWork()
  /// Why the run ends although nothing has failed or finished it: the user stops, or there is nothing to send. The first reason
  /// counts.
  var abandoned: Fault?
  /// When the run ends, whatever still goes on. A transfer that is done is forgotten without one, unless the user has stopped the
  /// run.
  var curfew: Double?
  private var lastSession: UInt64 = 0

  package init(_ settings: Settings) { facts = RunFacts(settings) }

  var settings: Settings { facts.settings }

  /// An event has happened; what is done about it, in this order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] {
    guard work.expects(event) else { return [] }
    work.end(event)
    if case .over = phase { return [] }
    var actions = work.release(after: event)
    var reaction: [Action] = []
    react(to: event, now, &reaction)
    actions += work.begin(reaction)
    // What follows without another event.
    while true {
      var next: [Action] = []
      guard moveOn(now, &next) else { return actions }
      actions += work.begin(next)
    }
  }

  /// When something may be different without an event.
  package var nextMoment: Double? {
    switch phase {
    case .waiting(_, let moment): moment
    case .conversing(let conversation, _): [conversation.nextMoment, curfew].compactMap { $0 }.min()
    case .closing, .counting, .finishing: curfew
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

  private mutating func react(to event: Event, _ now: Double, _ actions: inout [Action]) {
    switch event {
    case .begin: begin(&actions)
    case .walked(let result): walked(result, now, &actions)
    case .lookedUp(let result): lookedUp(result, now, &actions)
    case .found(let result, let spread): found(result, spread, now, &actions)
    case .chosen(let result): chosen(result, now, &actions)
    case .probed(let result): probed(result, now, &actions)
    case .codeEntered(let result): codeEntered(result, now, &actions)
    case .derived(let fault): derived(fault, now, &actions)
    case .stop(let kind): stop(kind, now, &actions)
    case .timePassed, .noted: break
    case .forgot: forgot(now)
    case .dialing(let first): dialing(first, &actions)
    case .dialed(.success(let meeting), _): met(meeting, now, &actions)
    case .dialed(.failure(let failure), let spread): unmet(failure, spread, now, &actions)
    case .closed(_, let spread): closed(spread)
    case .window(_, let counts): counted(counts, now, &actions)
    case .received(_, let message):
      converse(now, &actions) { (conversation, facts, actions) throws(Fault) in
        try conversation.received(message, &facts, now, &actions)
      }
    case .broke(_, let fault): breakOff(fault, now, &actions)
    case .drained:
      converse(now, &actions) { (conversation, facts, actions) throws(Fault) in
        conversation.sayRest(&facts.transfer, &actions)
      }
    case .withholding(_, let clause):
      converse(now, &actions) { (_, facts, actions) throws(Fault) in facts.tellWithholding(clause, &actions) }
    case .unsent(_, let unsent):
      converse(now, &actions) { (conversation, facts, actions) throws(Fault) in
        conversation.unsent(unsent, &facts.transfer, &actions)
      }
    case .exported(_, let result):
      converse(now, &actions) { (conversation, facts, actions) throws(Fault) in
        try conversation.exported(result, &facts, &actions)
      }
    case .finishNoted(_, _, let fault):
      converse(now, &actions) { (conversation, facts, actions) throws(Fault) in
        try conversation.finishNoted(fault, &facts.transfer, &actions)
      }
    case .streamJoined(_, let stream):
      converse(now, &actions) { (conversation, _, actions) throws(Fault) in
        conversation.joined(stream, now, &actions)
      }
    case .streamEnded(_, let stream, let end):
      converse(now, &actions) { (conversation, _, actions) throws(Fault) in
        try conversation.ended(stream, end, now, &actions)
      }
    case .recorded(let transfer, let traffic, let isWritten): recorded(transfer, traffic, isWritten, now, &actions)
    }
  }
}
