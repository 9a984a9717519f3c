import Expectations
import Testing

@testable import MigrationWire

@Suite struct PairingCodesTests {
  @Test func `three wrong tries burn a code, and a burned code is no longer open`() {
    var codes = PairingCodes()
    let code = codes.issue(now: 0)
    for tries in 1...2 {
      expect(codes.attempt(code, from: "\(tries)", now: 1), is: .compare)
      expect(codes.mismatched(code), is: .wrong(tries: tries))
      expect(codes.open(now: 1), is: code)
    }
    expect(codes.attempt(code, from: "3", now: 1), is: .compare)
    expect(codes.mismatched(code), is: .burned)
    expect(codes.wantsCode && codes.open(now: 1) == nil && codes.expiry == nil)
    expect(codes.attempt(code, from: "4", now: 1), is: .expired)
    let next = codes.issue(now: 2)
    expect(next != code)
    expect(codes.attempt(code, from: "4", now: 2), is: .expired)
    expect(codes.matched(code, from: "4"), is: false)
    expect(codes.attempt(next, from: "4", now: 2), is: .compare)
  }

  /// Spends guesses, each from a network of its own and after all delays, until none is left or so
  /// many are spent; the time.
  private func spend(_ count: Int, of codes: inout PairingCodes, now start: Double = 0) -> Double {
    var now = start
    for number in 0..<count {
      now += 3
      let code = codes.wantsCode ? codes.issue(now: now) : codes.open(now: now)
      guard let code, codes.attempt(code, from: "\(start) \(number)", now: now) == .compare else {
        Issue.record("guess \(number) is compared")
        return now
      }
      let consequence = codes.mismatched(code)
      let expected: PairingCodes.Consequence =
        number == 98 ? .exhausted : number % 3 == 2 ? .burned : .wrong(tries: number % 3 + 1)
      expect(consequence, is: expected)
    }
    return now
  }

  @Test func `ninety-nine wrong guesses exhaust a wait, and nothing is compared any more`() {
    var codes = PairingCodes()
    let now = spend(99, of: &codes)
    expect(codes.isExhausted && !codes.wantsCode && !codes.isTaken && codes.guessesLeft == 0)
    expect(codes.open(now: now) == nil && codes.expiry == nil)
    for number in 0...34 {
      expect(codes.attempt(number, from: "new", now: now + 1_000), is: .expired)
      expect(codes.matched(number, from: "new"), is: false)
    }
    expect(codes.guessers.count == 99 && codes.guessers.allSatisfy { $0.count == 1 })
  }

  @Test func `the user starts another wait with as many guesses, and only after the last one`() {
    var codes = PairingCodes()
    let code = codes.issue(now: 0)
    expect(codes.attempt(code, from: "a", now: 0), is: .compare)
    _ = codes.mismatched(code)
    codes.startAnew()
    expect(codes.guessesLeft == 98 && codes.open(now: 0) == code)
    codes = PairingCodes()
    let now = spend(99, of: &codes)
    codes.startAnew()
    expect(codes.wantsCode && !codes.isExhausted && codes.guessesLeft == 99 && codes.guessers.isEmpty)
    _ = spend(99, of: &codes, now: now)
    expect(codes.isExhausted)
  }

  @Test func `the last guess of a wait ends a code that has tries left`() {
    var codes = PairingCodes()
    // A code expires after one try, so that the ninety-ninth guess is a code's second.
    let first = codes.issue(now: 0)
    expect(codes.attempt(first, from: "first", now: 0), is: .compare)
    expect(codes.mismatched(first), is: .wrong(tries: 1))
    expect(codes.expire(now: 600), is: true)
    var now = 600.0
    for number in 0..<97 {
      now += 3
      let code = codes.wantsCode ? codes.issue(now: now) : codes.open(now: now)!
      expect(codes.attempt(code, from: "\(number)", now: now), is: .compare)
      _ = codes.mismatched(code)
    }
    let last = codes.open(now: now)!
    expect(codes.attempt(last, from: "a", now: now + 3), is: .compare)
    expect(codes.attempt(last, from: "b", now: now + 600), is: .expired)
    expect(codes.mismatched(last), is: .exhausted)
  }

  @Test func `codes expire without an end and cost nothing`() {
    var codes = PairingCodes()
    for round in 1...100 {
      let code = codes.issue(now: Double(round) * 1_000)
      expect(code, is: round)
      expect(codes.expire(now: Double(round) * 1_000 + 600), is: true)
      expect(codes.wantsCode && codes.guessesLeft == 99)
    }
    expect(codes.expire(now: .infinity), is: false)
  }

  @Test func `a delayed guess spends nothing`() {
    var codes = PairingCodes()
    let code = codes.issue(now: 0)
    expect(codes.attempt(code, from: "a", now: 0), is: .compare)
    // The result of the first exchange is not known yet: exchanges side by side get no further.
    for _ in 0..<10 { expect(codes.attempt(code, from: "a", now: 0.5), is: .delayed) }
    expect(codes.guessesLeft == 98 && codes.delays("a", now: 0.5) && !codes.delays("b", now: 0.5))
    expect(codes.mismatched(code), is: .wrong(tries: 1))
    expect(codes.attempt(code, from: "a", now: 1), is: .compare)
    expect(codes.mismatched(code), is: .wrong(tries: 2))
  }

  @Test func `the guesses of others postpone one until a moment`() {
    var codes = PairingCodes()
    for number in 0..<3 {
      let code = codes.issue(now: 0)
      _ = codes.attempt(code, from: "\(number)", now: 0)
      _ = codes.matched(code, from: "")
      codes.reopen()
    }
    let code = codes.issue(now: 0)
    expect(codes.attempt(code, from: "2", now: 0), is: .delayed)
    expect(codes.attempt(code, from: "a", now: 0), is: .postponed(until: 0.2 * 0.2))
    expect(codes.attempt(code, from: "a", isStated: true, now: 0.1), is: .postponed(until: 0.2))
    expect(codes.guessesLeft, is: 96)
    expect(codes.attempt(code, from: "a", now: 0.2 * 0.2), is: .compare)
  }

  @Test func `a code lives for 600 seconds and not for one moment more`() {
    var codes = PairingCodes()
    let code = codes.issue(now: 100)
    expect(codes.expiry, is: 700)
    expect(codes.expire(now: 700.0.nextDown), is: false)
    expect(codes.open(now: 700.0.nextDown), is: code)
    expect(codes.attempt(code, from: "a", now: 700.0.nextDown), is: .compare)
    expect(codes.attempt(code, from: "b", now: 700), is: .expired)
    expect(codes.open(now: 700) == nil)
    expect(codes.expire(now: 700), is: true)
    expect(codes.wantsCode)
  }

  @Test func `a try that was spent in time may still match`() {
    var codes = PairingCodes()
    let code = codes.issue(now: 0)
    expect(codes.attempt(code, from: "a", now: 599), is: .compare)
    expect(codes.matched(code, from: "a"), is: true)
    expect(codes.isTaken)
    expect(codes.expire(now: 601), is: false)
  }

  @Test func `a right code is used up`() {
    var codes = PairingCodes()
    let code = codes.issue(now: 0)
    expect(codes.attempt(code, from: "a", now: 0), is: .compare)
    expect(codes.attempt(code, from: "b", now: 0), is: .compare)
    expect(codes.matched(code, from: "a"), is: true)
    expect(codes.matched(code, from: "b"), is: false)
    expect(codes.attempt(code, from: "c", now: 0), is: .expired)
    expect(codes.open(now: 0) == nil)
    expect(codes.mismatched(code), is: .burned)
    expect(codes.isTaken && !codes.wantsCode)
  }

  @Test func `a failed pairing makes room for another code, and the wait continues`() {
    var codes = PairingCodes()
    for round in 1...99 {
      let now = Double(round) * 10
      let code = codes.issue(now: now)
      expect(codes.attempt(code, from: "a", now: now), is: .compare)
      expect(codes.matched(code, from: "a"), is: true)
      expect(codes.guessers.isEmpty)
      codes.reopen()
      expect(codes.guessesLeft, is: 99 - round)
      expect(codes.wantsCode == (round < 99) && codes.isExhausted == (round == 99))
      expect(codes.attempt(code, from: "b", now: now), is: .expired)
    }
    codes.reopen()
    expect(codes.isExhausted)
  }

  @Test func `reopening changes nothing while no sender is paired`() {
    var codes = PairingCodes()
    let before = codes
    codes.reopen()
    expect(codes, is: before)
    let code = codes.issue(now: 0)
    codes.reopen()
    expect(codes.open(now: 0), is: code)
  }

  /// One connection's exchange: it tries, then its confirmation proves right or wrong.
  private struct Exchange {
    let isRight: Bool
    var step = 0
    var compared = false
    var won = false
  }

  /// Runs every interleaving of the exchanges' steps.
  private func interleave(_ codes: PairingCodes, _ exchanges: [Exchange], _ check: ([Exchange], PairingCodes) -> Void) {
    var isOver = true
    for index in exchanges.indices where exchanges[index].step < 2 {
      isOver = false
      var (codes, exchanges) = (codes, exchanges)
      if exchanges[index].step == 0 {
        exchanges[index].compared = codes.attempt(1, from: "\(index)", now: 0) == .compare
        exchanges[index].step = exchanges[index].compared ? 1 : 2
      } else {
        if exchanges[index].isRight {
          exchanges[index].won = codes.matched(1, from: "\(index)")
        } else {
          _ = codes.mismatched(1)
        }
        exchanges[index].step = 2
      }
      interleave(codes, exchanges, check)
    }
    if isOver { check(exchanges, codes) }
  }

  @Test(arguments: 0..<16)
  func `however four exchanges interleave, at most three are compared and one wins`(rights: Int) {
    var codes = PairingCodes()
    _ = codes.issue(now: 0)
    let exchanges = (0..<4).map { Exchange(isRight: rights >> $0 & 1 == 1) }
    var runs = 0
    interleave(codes, exchanges) { exchanges, codes in
      runs += 1
      let (compared, won) = (exchanges.filter(\.compared), exchanges.filter(\.won))
      guard compared.count <= 3, won.count <= 1, won.allSatisfy({ $0.isRight && $0.compared }),
        codes.isTaken == (won.count == 1), compared.count == 3 || codes.isTaken
      else {
        Issue.record("\(exchanges)")
        return
      }
    }
    expect(runs > 24)
  }
}
