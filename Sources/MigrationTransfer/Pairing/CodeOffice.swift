import MigrationEngine
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
    /// Whether it was said that all guesses of this wait are spent.
    var isEndTold = false
    /// The addresses outside of the ranges that the user was told of.
    var strangers: Set<String> = []
  }

  /// Of how many addresses outside of the ranges the user is told.
  private static let toldStrangers = 8

  private let state = Mutex(State())
  private let ranges: [AddressRange]
  private let pace: LoopClock
  private let observe: @Sendable (TransferEvent) -> Void

  /// Lets only addresses of some ranges pair; all of them where there is no range.
  init(
    from ranges: [AddressRange] = [], pace: LoopClock = LoopClock(),
    observe: @escaping @Sendable (TransferEvent) -> Void
  ) {
    self.ranges = ranges
    self.pace = pace
    self.observe = observe
  }

  // MARK: Codes

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

  /// When the shown code stops working.
  var expiry: BootInstant? {
    state.withLock { $0.desk.expiry.map(pace.instant) }
  }

  /// Ends the shown code if its time is over.
  func expireIfDue() {
    state.withLock { state in
      if state.desk.expire(now: pace.now) { state.live = nil }
    }
  }

  /// The pairing that took the code came to nothing; another code may be shown.
  func reopen() { state.withLock { $0.desk.reopen() } }

  // MARK: Guesses

  /// Whether an address may pair at all. The user is told of the first ones that may not, since one of them may be theirs.
  func admits(_ address: SocketAddress) -> Bool {
    if ranges.isEmpty || ranges.contains(where: { $0.contains(address) }) { return true }
    let host = address.hostDescription
    let isNew = state.withLock { state in
      state.strangers.count < Self.toldStrangers && state.strangers.insert(host).inserted
    }
    if isNew { observe(.notice("\(host) wants to pair, and --from does not name it")) }
    return false
  }

  /// The code that a new exchange is about. Refuses while none is shown, and while earlier guesses delay this address.
  func live(for address: SocketAddress) throws(AbortReason) -> Live {
    let network = address.network.description
    return try state.withLock { (state) throws(AbortReason) -> Live in
      let now = pace.now
      guard let live = state.live, state.desk.open(now: now) == live.number else { throw .notPairing }
      guard !state.desk.delays(network, now: now) else { throw .busy }
      return live
    }
  }

  /// Spends one try, and only then compares: the answer is nil when the confirmation was right.
  func judge(_ number: CodeDesk.Number, from address: SocketAddress, _ isRight: () -> Bool) -> AbortReason? {
    let network = address.network.description
    let (attempt, tries, left) = state.withLock { state in
      let attempt = state.desk.attempt(number, from: network, now: pace.now)
      if attempt == .compare { state.tries += 1 }
      return (attempt, state.tries, state.desk.guessesLeft)
    }
    switch attempt {
    case .compare: break
    case .delayed: return .busy
    case .expired: return .codeExpired
    }
    if isRight() {
      return state.withLock { state in
        guard state.desk.matched(number, from: network) else { return .codeExpired }
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
    observe(
      .wrongCode(attempt: tries, allowed: CodeDesk.triesPerCode, from: address.hostDescription, left: left))
    return .codeMismatch
  }

  /// Whether this wait bears no other code.
  var isExhausted: Bool { state.withLock { $0.desk.isExhausted } }

  /// Tells once a wait that it bears no other code, who has tried, and whether that ends the run.
  func tellEnd(isOver: Bool) {
    let guessers: [GuessLimit.Count]? = state.withLock { state in
      guard state.desk.isExhausted, !state.isEndTold else { return nil }
      state.isEndTold = true
      return state.desk.guessers
    }
    if let guessers { observe(.codesSpent(count: GuessLimit.most, from: guessers, isOver: isOver)) }
  }

  /// The user wants another wait.
  func startAnew() {
    state.withLock { state in
      state.desk.startAnew()
      state.isEndTold = false
    }
  }
}
