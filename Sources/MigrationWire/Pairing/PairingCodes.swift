/// The life of the receiver's codes (Protocol §4.3): the allowed senders, tries and time.
///
/// Times are seconds on any clock that counts sleep. The caller chooses the texts that name
/// networks.
package struct PairingCodes: Equatable, Sendable {
  /// The number of one code of a run; a new code has a new number.
  package typealias Number = Int

  private enum State: Equatable {
    /// No code is shown: the first or next one is still being made.
    case closed
    case open(Number, tries: Int, expires: Double)
    /// A right code was given: no other sender is paired.
    case taken
  }

  /// The result of a try.
  package enum Attempt: Equatable, Sendable {
    /// One try is spent. The confirmation may be compared.
    case compare
    /// The code of this exchange is not valid any more.
    case expired
    /// Earlier guesses from the same network delay this guess. Nothing is spent.
    case delayed
    /// Guesses from other networks delay this guess, until a moment. Nothing is spent.
    case postponed(until: Double)
  }

  /// The consequence of a wrong confirmation.
  package enum Consequence: Equatable, Sendable {
    /// The code stays valid.
    case wrong(tries: Int)
    /// The code is burned and another must be shown.
    case burned
    /// The code is burned, and this wait allows no other.
    case exhausted
  }

  package static let lifetime: Double = 600
  package static let triesPerCode = 3

  private var state = State.closed
  private var issued = 0
  private var guesses = GuessLimit()

  package init() {}

  /// Issues a new code. Valid while one is wanted. Leads to open.
  package mutating func issue(now: Double) -> Number {
    precondition(wantsCode, "a code is issued only when one is wanted")
    issued += 1
    state = .open(issued, tries: 0, expires: now + Self.lifetime)
    return issued
  }

  /// The code that is open now, nil when there is none.
  package func open(now: Double) -> Number? {
    guard case .open(let number, _, let expires) = state, now < expires else { return nil }
    return number
  }

  /// When the open code expires.
  package var expiry: Double? {
    guard case .open(_, _, let expires) = state else { return nil }
    return expires
  }

  /// Whether all guesses of this wait are spent.
  package var isExhausted: Bool { state == .closed && guesses.left == 0 }
  package var isTaken: Bool { state == .taken }
  package var wantsCode: Bool { state == .closed && guesses.left > 0 }

  /// The number of spent tries of the open code.
  package var tries: Int {
    guard case .open(_, let tries, _) = state else { return 0 }
    return tries
  }

  /// The number of guesses that this wait still allows.
  package var guessesLeft: Int { guesses.left }

  /// The networks that guessed in this wait, most guesses first.
  package var guessers: [GuessLimit.Count] { guesses.counts }

  /// Whether earlier guesses delay those from a network now.
  package func delays(_ network: String, isStated: Bool = false, now: Double) -> Bool {
    guesses.delays(network, isStated: isStated, now: now)
  }

  /// Spends one try of code `number`, before anything is compared. Valid in every state.
  package mutating func attempt(
    _ number: Number, from network: String, isStated: Bool = false, now: Double
  ) -> Attempt {
    guard case .open(number, let tries, let expires) = state, now < expires, tries < Self.triesPerCode,
      guesses.left > 0
    else { return .expired }
    let end = guesses.delayEnd(of: network, isStated: isStated)
    guard now >= end else { return guesses.hasGuessed(network) ? .delayed : .postponed(until: end) }
    guesses.spend(from: network, now: now)
    state = .open(number, tries: tries + 1, expires: expires)
    return .compare
  }

  /// Takes a right confirmation. Leads to taken; false if another sender was faster.
  package mutating func matched(_ number: Number, from network: String) -> Bool {
    guard case .open(number, _, _) = state else { return false }
    state = .taken
    guesses.forgive(network)
    return true
  }

  /// Takes a wrong confirmation. Leads to open or closed.
  package mutating func mismatched(_ number: Number) -> Consequence {
    if case .open(number, let tries, _) = state {
      guard tries >= Self.triesPerCode || guesses.left == 0 else { return .wrong(tries: tries) }
      state = .closed
    }
    return isExhausted ? .exhausted : .burned
  }

  /// Ends a code that has expired; returns whether there was one. Valid in every state.
  package mutating func expire(now: Double) -> Bool {
    guard case .open(_, _, let expires) = state, now >= expires else { return false }
    state = .closed
    return true
  }

  /// Continues the wait after the pairing that took the code has failed.
  package mutating func reopen() {
    if state == .taken { state = .closed }
  }

  /// Begins the next wait after a transfer that has brought data. The count of guesses starts again
  /// at 0, and the networks' delays continue. An open code stays open. Valid in every state.
  package mutating func startNextWait(now: Double) {
    reopen()
    guesses.startNextWait(now: now)
  }

  /// Allows another wait with all guesses. Valid when all were spent.
  package mutating func startAnew() {
    if isExhausted { guesses = GuessLimit() }
  }
}
