import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// Issues the receiver's codes and judges what is proved of them. Connections of any thread come here.
///
/// The slow derivation runs once a code, before the code is shown, and never on a connection's path.
final class CodeOffice: Sendable {
  /// The code that can be proved now.
  struct Live: Sendable {
    let number: CodeDesk.Number
    let secret: [UInt8]
  }

  private struct State {
    var desk = CodeDesk()
    var live: Live?
    /// How many tries of the shown code are spent.
    var tries = 0
  }

  private let state = Mutex(State())
  private let pace: Pace
  private let observe: @Sendable (TransferEvent) -> Void

  init(pace: Pace = Pace(), observe: @escaping @Sendable (TransferEvent) -> Void) {
    self.pace = pace
    self.observe = observe
  }

  /// Makes and shows the next code if one is wanted. Slow: not for a connection's thread.
  func issueIfWanted() throws(TLSError) {
    guard state.withLock({ $0.desk.wantsCode }) else { return }
    let code = PairingCode(number: UInt32(randomSevenDigitNumber()))
    let secret = try PairingSecret.scalar(fromDigits: code.digits)
    let isIssued = state.withLock { state in
      guard state.desk.wantsCode else { return false }
      state.live = Live(number: state.desk.issue(now: pace.now), secret: secret)
      state.tries = 0
      return true
    }
    if isIssued { observe(.code(code, lifetime: CodeDesk.lifetime)) }
  }

  /// The code that a new exchange is about; nil when nobody can be paired now.
  func live() -> Live? {
    state.withLock { state in
      state.desk.open(now: pace.now) == state.live?.number ? state.live : nil
    }
  }

  /// When the shown code stops working.
  var expiry: BootInstant? {
    state.withLock { $0.desk.expiry.map(pace.instant) }
  }

  /// All codes of this run are spent: nobody can pair any more.
  var isExhausted: Bool { state.withLock { $0.desk.isExhausted } }
  var wantsCode: Bool { state.withLock { $0.desk.wantsCode } }

  /// Ends the shown code if its time is over.
  func expireIfDue() {
    state.withLock { state in
      if state.desk.expire(now: pace.now) != nil { state.live = nil }
    }
  }

  /// Spends one try, and only then compares: the answer is nil when the confirmation was right.
  func judge(_ number: CodeDesk.Number, from address: String, _ isRight: () -> Bool) -> AbortReason? {
    let attempt: Int? = state.withLock { state in
      guard state.desk.attempt(number, now: pace.now) == .compare else { return nil }
      state.tries += 1
      return state.tries
    }
    guard let attempt else { return .codeExpired }
    if isRight() {
      return state.withLock { state in
        guard state.desk.matched(number) else { return .codeExpired }
        state.live = nil
        return nil
      }
    }
    state.withLock { state in
      let consequence = state.desk.mismatched(number)
      if case .wrong = consequence { return }
      // Another code may be shown by now, if others have burned this one meanwhile.
      if state.live?.number == number { state.live = nil }
    }
    observe(.wrongCode(attempt: attempt, allowed: CodeDesk.triesPerCode, from: address))
    return .codeMismatch
  }

  /// The pairing that took the code came to nothing; another code may be shown.
  func reopen() { state.withLock { $0.desk.reopen() } }
}
