import MigrationEngine
import MigrationWire

/// The engine of a receiver whose loop and workers a test plays, on a clock that the test moves.
struct PlayedReceiver {
  typealias Action = ReceiverEngine.Action
  typealias Event = ReceiverEngine.Event

  static let code = PairingCode(number: 1_234_567)

  private(set) var engine: ReceiverEngine
  var now = 0.0
  /// Everything that the engine has said.
  private(set) var actions: [Action] = []
  private var lastConnection: UInt64 = 0
  private var codesMade = 0

  /// A receiver that shows a code.
  init(
    asksConsent: Bool = false, asksRestart: Bool = false, giveUpAfter: Double = 600,
    known: [ReceiverEngine.EarlierTransfer] = []
  ) {
    var settings = ReceiverEngine.Settings(
      greeting: Greeting(role: .receiver, label: "new", software: "test", features: []), giveUpAfter: giveUpAfter)
    settings.asksConsent = asksConsent
    settings.asksRestart = asksRestart
    engine = ReceiverEngine(settings)
    feed(.begin)
    feed(.tookBack(.success(known)))
    feed(.listening(.success(Listening(addresses: ["192.0.2.1"], port: 1))))
    makeCodes()
  }

  /// Reports an event. Returns the engine's answer.
  @discardableResult
  mutating func feed(_ event: Event) -> [Action] {
    let said = engine.handle(event, now: now)
    actions += said
    return said
  }

  /// Makes the code that is wanted, if one is.
  mutating func makeCodes() {
    if codesMade < actions.count(where: { if case .makeCode = $0 { true } else { false } }) {
      codesMade += 1
      feed(.codeMade(.success(Self.code)))
    }
  }

  /// A connection arrives, is let in, brings TLS up and states its mode. Returns the engine's
  /// answer.
  mutating func ask(
    _ mode: ConnectionMode, from host: String, key: KeyFingerprint? = nil, mayPair: Bool = true
  ) -> (ConnectionID, [Action]) {
    lastConnection += 1
    let id = ConnectionID(lastConnection)
    feed(.arrived(id, Remote(host: host, network: host, mayPair: mayPair), chance: lastConnection))
    feed(.spoke(id))
    feed(.secured(id, key))
    let said = feed(.asked(id, mode))
    guard case .awaitShare? = said.last else { return (id, said) }
    return (id, said + feed(.shared(id)))
  }

  /// A guess at the code that is shown: why it was turned away, if it was.
  mutating func guess(from host: String, isRight: Bool = false) -> AbortReason? {
    let (id, said) = ask(.pair, from: host)
    guard let reason = Self.reason(said) else { return prove(id, isRight: isRight) }
    feed(.departed(id))
    return reason
  }

  /// The confirmation of an exchange that continues. Returns the reason if it is turned away.
  mutating func prove(_ id: ConnectionID, isRight: Bool) -> AbortReason? {
    let reason = Self.reason(feed(.proved(id, isRight: isRight)))
    if reason != nil { feed(.departed(id)) }
    makeCodes()
    return reason
  }

  /// Spends all guesses of a wait, each from an address of its own.
  mutating func spendGuesses() {
    for number in 0..<10 * GuessLimit.most where !isAsking(.restart) && !isOver {
      now += 60
      feed(.timePassed)
      makeCodes()
      _ = guess(from: "192.0.2.\(number)")
    }
  }

  static func reason(_ actions: [Action]) -> AbortReason? {
    for case .turnAway(_, let reason, _) in actions { return reason }
    return nil
  }

  var isOver: Bool { actions.contains { if case .finish = $0 { true } else { false } } }

  /// How often the user was asked something.
  func questions(_ question: ReceiverEngine.Question) -> Int {
    actions.count { if case .ask(question) = $0 { true } else { false } }
  }

  /// How often a question was withdrawn.
  var withdrawals: Int { actions.count { if case .withdrawQuestion = $0 { true } else { false } } }

  /// How often a code was made.
  var codes: Int { actions.count { if case .tell(.code, _, _) = $0 { true } else { false } } }

  private func isAsking(_ question: ReceiverEngine.Question) -> Bool { questions(question) > 0 }
}
