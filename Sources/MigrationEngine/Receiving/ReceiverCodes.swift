import MigrationWire

/// The receiver's codes: how to judge a proof of a code, and when to show it again (Protocol §4.3).
struct ReceiverCodes: Sendable {
  /// The judgement of a proof.
  enum Verdict: Equatable, Sendable {
    case right
    /// The proof was wrong. `attempt` is the number of this try of the open code, `left` the number
    /// of guesses that are still judged in this wait.
    case wrong(attempt: Int, left: Int)
    /// The proof is not judged, and no try is spent.
    case refused(AbortReason)
    /// Guesses from other networks delay the judgement, until a moment.
    case postponed(until: Double)
  }

  /// The most addresses that the user is told about, among the addresses that may not pair.
  private static let toldStrangers = 8

  private var codes = PairingCodes()
  private let speed: Double
  /// Whether the user knows that all guesses of this wait are spent.
  private var isEndTold = false
  private var strangers: Set<String> = []
  /// The last issued code, and whether to show it again while it is open.
  private var shown: PairingCode?
  private var isToBeShownAgain = false
  /// Whether the last code ended because it expired.
  private(set) var hasExpired = false

  init(speed: Double) { self.speed = speed }

  var isWanted: Bool { codes.wantsCode }
  /// Whether this wait allows no other code.
  var isExhausted: Bool { codes.isExhausted }
  /// When the open code expires.
  var expiry: Double? { codes.expiry.map { $0 / speed } }
  /// Whether there is an open code, expired or not.
  var isOpen: Bool { codes.expiry != nil }

  /// A code is made. From now on senders may prove it.
  mutating func issue(_ code: PairingCode, now: Double) {
    _ = codes.issue(now: now * speed)
    shown = code
    isToBeShownAgain = false
  }

  /// Whether this run had a code.
  var wasIssued: Bool { shown != nil }

  /// Other messages interrupt: an open code is to be shown again after them.
  mutating func noteInterlude() { isToBeShownAgain = isOpen }

  /// The open code that is to be shown once more, and for how many more seconds it works.
  mutating func takeReminder(now: Double) -> (PairingCode, lifetime: Double)? {
    guard isToBeShownAgain, isOpen, let shown, let end = codes.expiry else { return nil }
    isToBeShownAgain = false
    return (shown, max(0, end - now * speed))
  }

  /// The transfer of this wait's pairing has ended: the next wait begins.
  mutating func startNextWait(now: Double) {
    codes.startNextWait(now: now * speed)
    isEndTold = false
    strangers = []
  }

  /// Ends the open code if it has expired, and returns whether that is the case.
  mutating func expire(now: Double) -> Bool {
    let isOver = codes.expire(now: now * speed)
    if isOver { hasExpired = true }
    return isOver
  }

  /// The pairing that used the code failed; another code may be shown.
  mutating func reopen() { codes.reopen() }

  /// The user wants another wait.
  mutating func startAnew() {
    codes.startAnew()
    isEndTold = false
  }

  /// The addresses that have guessed in a wait that allows no other code; returned once.
  mutating func tellEnd() -> [GuessLimit.Count]? {
    if isEndTold { return nil }
    isEndTold = true
    return codes.guessers
  }

  /// Whether to tell the user that an address wants to pair that may not.
  mutating func isTold(of stranger: String) -> Bool {
    strangers.count < Self.toldStrangers && strangers.insert(stranger).inserted
  }

  /// The code for a new exchange. Throws while no code is open, and while earlier guesses delay a
  /// network.
  func open(for remote: Remote, now: Double) throws(AbortReason) -> PairingCodes.Number {
    guard let number = codes.open(now: now * speed) else { throw .notPairing }
    let delays = codes.delays(remote.guesser, isStated: remote.relay != nil, now: now * speed)
    guard !delays else { throw .busy }
    return number
  }

  /// Whether the code can be proved now.
  func isOpen(_ number: PairingCodes.Number, now: Double) -> Bool { codes.open(now: now * speed) == number }

  /// Spends one try, and only then checks the proof.
  mutating func judge(
    _ number: PairingCodes.Number, _ isRight: Bool, from remote: Remote, now: Double
  ) -> Verdict {
    switch codes.attempt(number, from: remote.guesser, isStated: remote.relay != nil, now: now * speed) {
    case .delayed: return .refused(.busy)
    case .postponed(let end): return .postponed(until: end / speed)
    case .expired: return .refused(.codeExpired)
    case .compare: break
    }
    if isRight {
      _ = codes.matched(number, from: remote.guesser)
      return .right
    }
    let attempt = codes.tries
    _ = codes.mismatched(number)
    return .wrong(attempt: attempt, left: codes.guessesLeft)
  }
}
