package import MigrationWire

/// Whether the sender may compress data in transit, as far as both devices and the exporter allow
/// it.
package enum CompressionPreference: String, Sendable {
  /// Where it makes the transfer faster.
  case auto
  /// All data that becomes smaller by it.
  case always
  case never
}

/// Makes all decisions of a sender: how to reach the receiver, how sessions proceed, how many
/// streams there are, when to give up (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct SenderEngine: Sendable {
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
    /// Who has asked for compression is told if there is none.
    package var compression = CompressionPreference.auto
    /// Whether this device can compress.
    package var canCompress = true
    /// How many seconds more than others the source's workers may take to end.
    package var graceAtTheEnd = 0.0

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
  var facts: RunFacts
  var work = PendingWork()
  /// The reason for an end without failure or success: the user's stop, or a source with nothing to
  /// send. The first reason counts.
  var abandoned: Fault?
  /// When the run ends, even if work remains. Forgetting a finished transfer has no such limit,
  /// unless the user has stopped the run.
  var curfew: Double?
  private var lastSession: UInt64 = 0

  package init(_ settings: Settings) { facts = RunFacts(settings) }

  var settings: Settings { facts.settings }

  /// Handles an event and returns the actions, in their order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] {
    guard work.expects(event) else { return [] }
    work.end(event)
    if case .over = phase { return [] }
    var actions = work.release(after: event)
    var reaction: [Action] = []
    react(to: event, now, &reaction)
    actions += work.begin(reaction)
    // The consequences that need no other event.
    while true {
      var next: [Action] = []
      guard moveOn(now, &next) else { return actions }
      actions += work.begin(next)
    }
  }

  /// The next moment at which something may change without an event.
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
