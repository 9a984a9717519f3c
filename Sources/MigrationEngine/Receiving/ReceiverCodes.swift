import MigrationWire

/// The receiver's codes: when one is wanted, and what becomes of what is proved of it (Protocol §4.3).
struct ReceiverCodes: Sendable {
  /// What becomes of a proof.
  enum Verdict: Equatable, Sendable {
    case right
    /// It was wrong, as so many before it; so many more are judged in this wait.
    case wrong(attempt: Int, left: Int)
    case refused(AbortReason)
  }

  /// Of how many addresses that may not pair the user is told.
  private static let toldStrangers = 8

  private var codes = PairingCodes()
  private let speed: Double
  /// Whether it was said that all guesses of this wait are spent.
  private var isEndTold = false
  private var strangers: Set<String> = []
  /// The code that was issued last, and whether the user is to see it again while it is open.
  private var shown: PairingCode?
  private var isToBeShownAgain = false
  /// Whether the last code ended since its time was over.
  private(set) var hasExpired = false

  init(speed: Double) { self.speed = speed }

  var isWanted: Bool { codes.wantsCode }
  /// Whether this wait bears no other code.
  var isExhausted: Bool { codes.isExhausted }
  /// When the open code expires.
  var expiry: Double? { codes.expiry.map { $0 / speed } }
  /// Whether there is an open code, expired or not.
  var isOpen: Bool { codes.expiry != nil }

  /// A code is made, and may be proved from now on.
  mutating func issue(_ code: PairingCode, now: Double) {
    _ = codes.issue(now: now * speed)
    shown = code
    isToBeShownAgain = false
  }

  /// Whether there was a code in this run.
  var wasIssued: Bool { shown != nil }

  /// Something else is said meanwhile: an open code is to be shown again behind it.
  mutating func noteInterlude() { isToBeShownAgain = isOpen }

  /// The open code that is to be shown again, once, and for how many more seconds it works.
  mutating func takeReminder(now: Double) -> (PairingCode, lifetime: Double)? {
    guard isToBeShownAgain, isOpen, let shown, let end = codes.expiry else { return nil }
    isToBeShownAgain = false
    return (shown, max(0, end - now * speed))
  }

  /// The transfer of the pairing of this wait is over: the next wait begins.
  mutating func startNextWait(now: Double) {
    codes.startNextWait(now: now * speed)
    isEndTold = false
    strangers = []
  }

  /// Ends the open code if its time is over; whether that is so.
  mutating func expire(now: Double) -> Bool {
    let isOver = codes.expire(now: now * speed)
    if isOver { hasExpired = true }
    return isOver
  }

  /// The pairing that took the code came to nothing; another code may be shown.
  mutating func reopen() { codes.reopen() }

  /// The user wants another wait.
  mutating func startAnew() {
    codes.startAnew()
    isEndTold = false
  }

  /// The guessers of a wait that bears no other code, once.
  mutating func tellEnd() -> [GuessLimit.Count]? {
    if isEndTold { return nil }
    isEndTold = true
    return codes.guessers
  }

  /// Whether the user is to hear that an address wants to pair that may not.
  mutating func isTold(of stranger: String) -> Bool {
    strangers.count < Self.toldStrangers && strangers.insert(stranger).inserted
  }

  /// The code that a new exchange is about. Refuses while none is open, and while earlier guesses delay a network.
  func open(for network: String, now: Double) throws(AbortReason) -> PairingCodes.Number {
    guard let number = codes.open(now: now * speed) else { throw .notPairing }
    guard !codes.delays(network, now: now * speed) else { throw .busy }
    return number
  }

  /// Whether the code can be proved now.
  func isOpen(_ number: PairingCodes.Number, now: Double) -> Bool { codes.open(now: now * speed) == number }

  /// Spends one try, and only then looks whether the proof was right.
  mutating func judge(
    _ number: PairingCodes.Number, _ isRight: Bool, from network: String, now: Double
  ) -> Verdict {
    switch codes.attempt(number, from: network, now: now * speed) {
    case .delayed: return .refused(.busy)
    case .expired: return .refused(.codeExpired)
    case .compare: break
    }
    if isRight {
      _ = codes.matched(number, from: network)
      return .right
    }
    let attempt = codes.tries
    _ = codes.mismatched(number)
    return .wrong(attempt: attempt, left: codes.guessesLeft)
  }
}
