/// How many guesses one wait for a pairing bears, and how long each of them delays the next (Protocol §4.3).
///
/// Times are seconds on any clock that counts sleep; networks are texts that the caller chooses. The guesses bound the table.
package struct GuessLimit: Equatable, Sendable {
  /// How many guesses came from one network.
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
    var last: Double
  }

  /// The comparisons of one wait: fewer than one in 100,000 of all codes.
  package static let most = 99
  /// The longest delay of one network, in seconds.
  package static let longestDelay: Double = 600
  /// The longest delay that all guesses cause together, in seconds.
  package static let longestCommonDelay: Double = 10
  /// After how many guesses of the wait there is no common delay yet.
  private static let free = 2
  /// How much each further guess adds to the common delay, in seconds.
  private static let step = 0.2
  /// The part of the common delay that a network bears from which no guess came.
  private static let shareOfOthers = 0.2

  private var guessers: [String: Guesser] = [:]
  private var last = 0.0
  /// How many guesses are spent.
  package private(set) var spent = 0

  package init() {}

  /// How many guesses are left.
  package var left: Int { Self.most - spent }

  /// Whether the next guess from a network has to wait.
  package func delays(_ network: String, now: Double) -> Bool { now < end(of: network) }

  /// Spends one guess, which delays the next ones. Valid while some are left.
  package mutating func spend(from network: String, now: Double) {
    precondition(left > 0, "a guess is spent only while some are left")
    spent += 1
    last = now
    guessers[network] = Guesser(count: (guessers[network]?.count ?? 0) + 1, last: now)
  }

  /// The guess was right: its network has no delay of its own any more.
  package mutating func forgive(_ network: String) { guessers[network] = nil }

  /// Where the guesses came from, most first.
  package var counts: [Count] {
    guessers.map { Count(network: $0.key, count: $0.value.count) }
      .sorted { ($1.count, $0.network) < ($0.count, $1.network) }
  }

  /// When the next guess from a network may be compared.
  private func end(of network: String) -> Double {
    guard spent > 0 else { return -.infinity }
    guard let guesser = guessers[network] else { return last + Self.commonDelay(after: spent) * Self.shareOfOthers }
    return max(last + Self.commonDelay(after: spent), guesser.last + Self.delay(after: guesser.count))
  }

  /// How long a network waits after so many guesses.
  static func delay(after count: Int) -> Double {
    // Ten doublings are more than the longest delay.
    min(longestDelay, Double(1 << min(max(0, count - 1), 10)))
  }

  /// How long everything waits after so many guesses of the wait.
  static func commonDelay(after count: Int) -> Double {
    min(longestCommonDelay, Double(max(0, count - free)) * step)
  }
}
