/// The life of the receiver's codes (Protocol §4.3): who may try, how often, and how long.
///
/// Times are seconds on any clock that counts sleep; the desk only compares them.
package struct CodeDesk: Equatable, Sendable {
  /// Names one code of a run; a new code has a new number.
  package typealias Number = Int

  private enum State: Equatable {
    /// No code is shown yet, or the last one is over and the next is still being made.
    case closed
    case open(Number, wrong: Int, expires: Double)
    /// A right code was given: nobody else is paired.
    case taken
    /// All codes of the run are spent.
    case exhausted
  }

  /// What became of a try.
  package enum Attempt: Equatable, Sendable {
    /// One try is spent; now the confirmation may be compared.
    case compare
    /// The code of this exchange is no longer live.
    case expired
  }

  /// What follows from a wrong confirmation.
  package enum Consequence: Equatable, Sendable {
    /// The code lives on.
    case wrong(tries: Int)
    /// The code is burned and another must be shown.
    case burned
    /// That was the last code of the run.
    case exhausted
  }

  package static let lifetime: Double = 600
  package static let triesPerCode = 3
  package static let codesPerRun = 5

  private var state = State.closed
  private var issued = 0

  package init() {}

  /// A new code may be shown. Valid while no code is open. Leads to open.
  package mutating func issue(now: Double) -> Number {
    precondition(state == .closed && issued < Self.codesPerRun, "a code is issued only when one is wanted")
    issued += 1
    state = .open(issued, wrong: 0, expires: now + Self.lifetime)
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

  package var isExhausted: Bool { state == .exhausted }
  package var isTaken: Bool { state == .taken }
  package var wantsCode: Bool { state == .closed }

  /// Spends one try of code `number`, before anything is compared. Valid in every state.
  package mutating func attempt(_ number: Number, now: Double) -> Attempt {
    guard case .open(number, let wrong, let expires) = state, now < expires, wrong < Self.triesPerCode else {
      return .expired
    }
    state = .open(number, wrong: wrong + 1, expires: expires)
    return .compare
  }

  /// The confirmation was right. Leads to taken; false when somebody else was faster.
  package mutating func matched(_ number: Number) -> Bool {
    guard case .open(number, _, _) = state else { return false }
    state = .taken
    return true
  }

  /// The confirmation was wrong. Leads to open, closed or exhausted.
  package mutating func mismatched(_ number: Number) -> Consequence {
    guard case .open(number, let wrong, _) = state else { return isExhausted ? .exhausted : .burned }
    guard wrong >= Self.triesPerCode else { return .wrong(tries: wrong) }
    return retire()
  }

  /// Ends a code whose time is over. Valid in every state.
  package mutating func expire(now: Double) -> Consequence? {
    guard case .open(_, _, let expires) = state, now >= expires else { return nil }
    return retire()
  }

  /// The pairing that took the code did not come to anything: a new one may be issued.
  package mutating func reopen() {
    guard state == .taken else { return }
    _ = retire()
  }

  private mutating func retire() -> Consequence {
    state = issued < Self.codesPerRun ? .closed : .exhausted
    return state == .closed ? .burned : .exhausted
  }
}
