import Expectations
import Testing

@testable import MigrationWire

@Suite struct GuessLimitTests {
  @Test func `a network waits twice as long after each guess, ten minutes at most`() {
    let delays = (1...13).map { GuessLimit.delay(after: $0) }
    expect(delays, is: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600])
    var guesses = GuessLimit()
    guesses.spend(from: "a", now: 100)
    expect(guesses.delays("a", now: 101.0.nextDown) && !guesses.delays("a", now: 101))
    guesses.spend(from: "a", now: 101)
    expect(guesses.delays("a", now: 103.0.nextDown) && !guesses.delays("a", now: 103))
  }

  @Test func `all wait for nothing after two guesses, then longer, and ten seconds at most`() {
    expect((1...4).map { GuessLimit.commonDelay(after: $0) }, is: [0, 0, 0.2, 0.4])
    expect(GuessLimit.commonDelay(after: 51) < 10 && GuessLimit.commonDelay(after: 52) == 10)
    expect(GuessLimit.commonDelay(after: 99), is: 10)
  }

  @Test func `a network without a guess waits a fifth of the common delay`() {
    var guesses = GuessLimit()
    expect(!guesses.delays("honest", now: 0))
    guesses.spend(from: "early", now: 0)
    for _ in 0..<51 { guesses.spend(from: "late", now: 1_000) }
    expect(guesses.delays("honest", now: 1_002.0.nextDown) && !guesses.delays("honest", now: 1_002))
    // A relay's word for it is not enough.
    expect(guesses.delays("stated", isStated: true, now: 1_010.0.nextDown))
    expect(!guesses.delays("stated", isStated: true, now: 1_010))
    expect(guesses.delays("early", now: 1_010.0.nextDown) && !guesses.delays("early", now: 1_010))
    expect(guesses.delays("late", now: 1_600.0.nextDown) && !guesses.delays("late", now: 1_600))
  }

  /// How long a number of networks takes to spend a number of guesses, each as soon as it may.
  private func seconds(networks: Int, guesses count: Int) -> Double {
    var guesses = GuessLimit()
    var now = 0.0
    while guesses.spent < count {
      let free = (0..<networks).first { !guesses.delays("\($0)", now: now) }
      // The delays of one network are whole seconds.
      if let free { guesses.spend(from: "\(free)", now: now) } else { now += networks == 1 ? 1 : 0.05 }
    }
    return now
  }

  @Test func `the guesses of one network last for hours, those of a hundred for minutes`() {
    expect((511...512).contains(seconds(networks: 1, guesses: 10)))
    expect(seconds(networks: 1, guesses: 99) > 14 * 3600)
    expect((1_000...1_010).contains(seconds(networks: 10, guesses: 99)))
    expect((143...150).contains(seconds(networks: 100, guesses: 99)))
  }

  @Test func `a right guess frees its network and stays spent`() {
    var guesses = GuessLimit()
    guesses.spend(from: "a", now: 0)
    guesses.spend(from: "b", now: 0)
    guesses.forgive("a")
    expect(!guesses.delays("a", now: 0) && guesses.delays("b", now: 0))
    expect(guesses.spent == 2 && guesses.left == 97)
    expect(guesses.counts, is: [GuessLimit.Count(network: "b", count: 1)])
  }

  @Test func `where guesses came from is told, most first`() {
    var guesses = GuessLimit()
    for network in ["b", "c", "a", "c"] { guesses.spend(from: network, now: 0) }
    expect(guesses.counts.map(\.network), is: ["c", "a", "b"])
    expect(guesses.counts.map(\.count), is: [2, 1, 1])
  }
}
