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
    /// Earlier guesses delay this one. Nothing is spent.
    case delayed
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
  package func delays(_ network: String, now: Double) -> Bool { guesses.delays(network, now: now) }

  /// Spends one try of code `number`, before anything is compared. Valid in every state.
  package mutating func attempt(_ number: Number, from network: String, now: Double) -> Attempt {
    guard case .open(number, let tries, let expires) = state, now < expires, tries < Self.triesPerCode,
      guesses.left > 0
    else { return .expired }
    if guesses.delays(network, now: now) { return .delayed }
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

/// The eight digits that a person copies from the receiver to the sender (Protocol §4.3).
package struct PairingCode: Hashable, Sendable {
  /// Why a typed text is no code.
  package enum Mistake: Error, Equatable, Sendable {
    /// Not eight digits.
    case malformed
    /// The check digit is wrong, as after a typing mistake.
    case mistyped
  }

  /// The digits before the check digit. As a number they leave no text in memory.
  private let number: UInt32

  /// A code from a uniformly random number below 10⁷.
  package init(number: UInt32) {
    precondition(number < 10_000_000, "a code has seven free digits")
    self.number = number
  }

  /// Reads a typed text: spaces and dashes are ignored, everything else must be eight ASCII digits.
  /// The caller cleanses the text.
  package init(typed text: [UInt8]) throws(Mistake) { try self.init(typed: text.span) }

  /// Reads a text as the other initializer does.
  package init(typed text: Span<UInt8>) throws(Mistake) {
    var (number, check, count) = (UInt32(0), UInt8(0), 0)
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): break
      case let byte where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) && count < 8:
        let digit = byte - UInt8(ascii: "0")
        if count < 7 { number = number * 10 + UInt32(digit) }
        check = Self.check(check, digit)
        count += 1
      default: throw .malformed
      }
    }
    guard count == 8 else { throw .malformed }
    guard check == 0 else { throw .mistyped }
    self.number = number
  }

  /// Eight digits in ASCII, the last of them the check digit; the caller cleanses them.
  package var digits: [UInt8] {
    var digits = [UInt8](repeating: UInt8(ascii: "0"), count: 8)
    forEachDigit { digits[$0] += $1 }
    return digits
  }

  /// The code as `4829-1367`. A text this short lies in the value itself, not on the heap.
  package var shown: String {
    var text = ""
    forEachDigit { place, digit in
      if place == 4 { text.append("-") }
      text.append(Character(Unicode.Scalar(UInt8(ascii: "0") + digit)))
    }
    return text
  }

  /// Gives each of the eight digits with its place.
  private func forEachDigit(_ body: (_ place: Int, _ digit: UInt8) -> Void) {
    var (check, unit) = (UInt8(0), UInt32(1_000_000))
    for place in 0..<7 {
      let digit = UInt8(number / unit % 10)
      check = Self.check(check, digit)
      body(place, digit)
      unit /= 10
    }
    // The only digit that leads Damm's check to zero is the interim digit itself.
    body(7, check)
  }

  /// Damm's next interim digit after one more digit. It begins at 0, and is 0 again after the check
  /// digit.
  static func check(_ interim: UInt8, _ digit: UInt8) -> UInt8 { damm[Int(interim)][Int(digit)] }

  private static let damm: [[UInt8]] = [
    [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
    [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
    [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
    [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
    [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
    [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
    [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
    [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
    [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
    [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
  ]
}

/// The number of guesses that one wait for a pairing allows, and the delay that each causes
/// (Protocol §4.3).
///
/// Times are seconds on any clock that counts sleep; the caller chooses the texts that name
/// networks. The number of guesses limits the table.
package struct GuessLimit: Equatable, Sendable {
  /// The number of guesses from one network.
  package struct Count: Equatable, Sendable {
    package let network: String
    package let count: Int

    package init(network: String, count: Int) {
      self.network = network
      self.count = count
    }
  }

  private struct Guesser: Equatable {
    var count: Int
    /// The number of guesses in this wait.
    var ofThisWait: Int
    var last: Double
  }

  /// The comparisons of one wait: fewer than one in 100,000 of all codes.
  package static let most = 99
  /// The longest delay of one network, in seconds.
  package static let longestDelay: Double = 600
  /// The longest delay that all guesses cause together, in seconds.
  package static let longestCommonDelay: Double = 10
  /// The number of guesses of the wait that cause no common delay.
  private static let free = 2
  /// The seconds that each further guess adds to the common delay.
  private static let step = 0.2
  /// The share of the common delay for a network without a guess.
  private static let shareOfOthers = 0.2

  /// The seconds for which a network's guesses count in later waits.
  private static let memory: Double = 24 * 3600

  private var guessers: [String: Guesser] = [:]
  private var last = -Double.infinity
  /// The number of spent guesses.
  package private(set) var spent = 0

  package init() {}

  /// The number of guesses that are left.
  package var left: Int { Self.most - spent }

  /// Whether the next guess from a network has to wait.
  package func delays(_ network: String, now: Double) -> Bool { now < end(of: network) }

  /// Spends one guess, which delays the next guesses. Valid while some are left.
  package mutating func spend(from network: String, now: Double) {
    precondition(left > 0, "a guess is spent only while some are left")
    spent += 1
    last = now
    let before = guessers[network]
    guessers[network] = Guesser(
      count: (before?.count ?? 0) + 1, ofThisWait: (before?.ofThisWait ?? 0) + 1, last: now)
  }

  /// Begins the next wait with all guesses. Each network's delay continues: the networks with the
  /// most guesses are remembered for a day, at most as many as one wait has guesses.
  package mutating func startNextWait(now: Double) {
    spent = 0
    let remembered = guessers.filter { now - $0.value.last < Self.memory }
      .sorted { ($1.value.count, $1.value.last, $0.key) < ($0.value.count, $0.value.last, $1.key) }
    guessers = [:]
    for (network, guesser) in remembered.prefix(Self.most) {
      guessers[network] = Guesser(count: guesser.count, ofThisWait: 0, last: guesser.last)
    }
  }

  /// Removes the delay of a network whose guess was right.
  package mutating func forgive(_ network: String) { guessers[network] = nil }

  /// The networks that guessed, most guesses first.
  package var counts: [Count] {
    guessers.filter { $0.value.ofThisWait > 0 }.map { Count(network: $0.key, count: $0.value.ofThisWait) }
      .sorted { ($1.count, $0.network) < ($0.count, $1.network) }
  }

  /// When the next guess from a network may be compared.
  private func end(of network: String) -> Double {
    let guesser = guessers[network]
    let share = guesser.map { $0.ofThisWait > 0 } == true ? 1 : Self.shareOfOthers
    let own = guesser.map { $0.last + Self.delay(after: $0.count) } ?? -.infinity
    return max(last + Self.commonDelay(after: spent) * share, own)
  }

  /// The delay of a network after `count` guesses, in seconds.
  static func delay(after count: Int) -> Double {
    // Ten doublings are more than the longest delay.
    min(longestDelay, Double(1 << min(max(0, count - 1), 10)))
  }

  /// The delay of all networks after `count` guesses of the wait, in seconds.
  static func commonDelay(after count: Int) -> Double {
    min(longestCommonDelay, Double(max(0, count - free)) * step)
  }
}
