package import MigrationWire

/// The life of the receiver's codes (Protocol §4.3): the tries and the time that each allows, the
/// judgement of a proof, and when to show a code again.
package struct ReceiverCodes: Equatable, Sendable {
  /// The number of one code of a run; a new code has a new number.
  package typealias Number = Int

  /// The judgement of a proof.
  package enum Verdict: Equatable, Sendable {
    case right
    /// The proof was wrong. `attempt` is the number of this try of the open code, `left` the number
    /// of guesses that are still judged in this wait.
    case wrong(attempt: Int, left: Int)
    /// The proof is not judged, and no try is spent.
    case refused(AbortReason)
    /// Guesses from other networks delay the judgement, until a moment.
    case postponed(until: Double)
  }

  private enum State: Equatable {
    /// No code is shown: the first or next one is still being made.
    case closed
    case open(Number, tries: Int, expires: Double)
    /// A right code was given: no other sender is paired.
    case taken
  }

  package static let lifetime: Double = 600
  /// The most addresses that the user is told about, among the addresses that may not pair.
  private static let toldStrangers = 8

  private let speed: Double
  private var state = State.closed
  private var issued = 0
  private var guesses = GuessLimit()
  /// Whether the user knows that all guesses of this wait are spent.
  private var isEndTold = false
  private var strangers: Set<String> = []
  /// The last issued code, and whether to show it again while it is open.
  private var shown: PairingCode?
  private var isToBeShownAgain = false
  /// Whether the last code ended because it expired.
  private(set) var hasExpired = false

  package init(speed: Double = 1) { self.speed = speed }

  package var isWanted: Bool { state == .closed && guesses.left > 0 }
  /// Whether all guesses of this wait are spent, so that it allows no other code.
  package var isExhausted: Bool { state == .closed && guesses.left == 0 }
  package var isTaken: Bool { state == .taken }
  /// When the open code expires.
  package var expiry: Double? { if case .open(_, _, let expires) = state { expires / speed } else { nil } }
  /// Whether there is an open code, expired or not.
  var isOpen: Bool { expiry != nil }
  /// The number of guesses that this wait still allows.
  package var guessesLeft: Int { guesses.left }

  /// A code is made. Valid while one is wanted. From now on senders may prove it.
  @discardableResult
  package mutating func issue(_ code: PairingCode, now: Double) -> Number {
    precondition(isWanted, "a code is issued only when one is wanted")
    issued += 1
    state = .open(issued, tries: 0, expires: now * speed + Self.lifetime)
    shown = code
    isToBeShownAgain = false
    return issued
  }

  /// Whether this run had a code.
  var wasIssued: Bool { shown != nil }

  /// Other messages interrupt: an open code is to be shown again after them.
  mutating func noteInterlude() { isToBeShownAgain = isOpen }

  /// The open code that is to be shown once more, and for how many more seconds it works.
  mutating func takeReminder(now: Double) -> (PairingCode, lifetime: Double)? {
    guard isToBeShownAgain, case .open(_, _, let expires) = state, let shown else { return nil }
    isToBeShownAgain = false
    return (shown, max(0, expires - now * speed))
  }

  /// Begins the next wait after a transfer that has brought data. The count of guesses starts again
  /// at 0, and the networks' delays continue. An open code stays open.
  package mutating func startNextWait(now: Double) {
    reopen()
    guesses.startNextWait(now: now * speed)
    isEndTold = false
    strangers = []
  }

  /// Ends the open code if it has expired, and returns whether that is the case.
  package mutating func expire(now: Double) -> Bool {
    guard case .open(_, _, let expires) = state, now * speed >= expires else { return false }
    state = .closed
    hasExpired = true
    return true
  }

  /// The pairing that used the code has failed, or is over; another code may be shown.
  package mutating func reopen() {
    if state == .taken { state = .closed }
  }

  /// The user wants another wait with all guesses. Has an effect when all were spent.
  package mutating func startAnew() {
    if isExhausted { guesses = GuessLimit() }
    isEndTold = false
  }

  /// The networks that have guessed in a wait that allows no other code, most guesses first; returned
  /// once.
  mutating func tellEnd() -> [GuessLimit.Count]? {
    if isEndTold { return nil }
    isEndTold = true
    return guesses.counts
  }

  /// Whether to tell the user that an address wants to pair that may not.
  mutating func isTold(of stranger: String) -> Bool {
    strangers.count < Self.toldStrangers && strangers.insert(stranger).inserted
  }

  /// The code for a new exchange. Throws while no code is open, and while earlier guesses delay a
  /// network.
  package func open(for remote: Remote, now: Double) throws(AbortReason) -> Number {
    guard case .open(let number, _, let expires) = state, now * speed < expires else { throw .notPairing }
    let delays = guesses.delays(remote.guesser, isStated: remote.relay != nil, now: now * speed)
    guard !delays else { throw .busy }
    return number
  }

  /// Whether the code can be proved now.
  func isOpen(_ number: Number, now: Double) -> Bool {
    if case .open(number, _, let expires) = state { now * speed < expires } else { false }
  }

  /// Spends one try, and only then looks at the proof. Of several right proofs the first counts.
  package mutating func judge(_ number: Number, _ isRight: Bool, from remote: Remote, now: Double) -> Verdict {
    let now = now * speed
    guard case .open(number, let spent, let expires) = state, now < expires else { return .refused(.codeExpired) }
    let end = guesses.delayEnd(of: remote.guesser, isStated: remote.relay != nil)
    guard now >= end else {
      return guesses.hasGuessed(remote.guesser) ? .refused(.busy) : .postponed(until: end / speed)
    }
    guesses.spend(from: remote.guesser, now: now)
    guard !isRight else {
      state = .taken
      guesses.forgive(remote.guesser)
      return .right
    }
    let isOver = spent + 1 >= PairingCode.tries || guesses.left == 0
    state = isOver ? .closed : .open(number, tries: spent + 1, expires: expires)
    return .wrong(attempt: spent + 1, left: guesses.left)
  }
}
