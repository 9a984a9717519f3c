/// The number of guesses that one wait for a pairing allows, and the delay that each causes
/// (Protocol §4.3, §A.1).
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

  /// Whether a network has guessed wrong lately.
  package func hasGuessed(_ network: String) -> Bool { guessers[network] != nil }

  /// Whether the next guess from a network has to wait.
  package func delays(_ network: String, isStated: Bool = false, now: Double) -> Bool {
    now < delayEnd(of: network, isStated: isStated)
  }

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

  /// When the next guess from a network may be compared. Only a relay's word may say which network
  /// it is (Protocol §A.1).
  package func delayEnd(of network: String, isStated: Bool) -> Double {
    let guesser = guessers[network]
    let share = isStated || guesser.map { $0.ofThisWait > 0 } == true ? 1 : Self.shareOfOthers
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
