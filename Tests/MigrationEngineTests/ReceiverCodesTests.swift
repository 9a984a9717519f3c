import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

@Suite struct ReceiverCodesTests {
  private let code = PairingCode(number: 1)

  private func remote(_ network: String, relay: String? = nil) -> Remote {
    Remote(host: network, network: network, relay: relay)
  }

  private func guess(
    _ codes: inout ReceiverCodes, _ number: Int, from network: String, isRight: Bool = false, now: Double
  ) -> ReceiverCodes.Verdict {
    codes.judge(number, isRight, from: remote(network), now: now)
  }

  /// The number of the open code; nil if there is none.
  private func open(_ codes: ReceiverCodes, now: Double) -> Int? { try? codes.open(for: remote("new"), now: now) }

  @Test func `three wrong tries burn a code, and a burned code is no longer open`() {
    var codes = ReceiverCodes()
    let first = codes.issue(code, now: 0)
    for tries in 1...2 {
      expect(guess(&codes, first, from: "\(tries)", now: 1), is: .wrong(attempt: tries, left: 99 - tries))
      expect(open(codes, now: 1), is: first)
    }
    expect(guess(&codes, first, from: "3", now: 1), is: .wrong(attempt: 3, left: 96))
    expect(codes.isWanted && open(codes, now: 1) == nil && codes.expiry == nil)
    expect(guess(&codes, first, from: "4", now: 1), is: .refused(.codeExpired))
    let next = codes.issue(code, now: 2)
    expect(next != first)
    expect(guess(&codes, first, from: "4", isRight: true, now: 2), is: .refused(.codeExpired))
    expect(guess(&codes, next, from: "4", isRight: true, now: 2), is: .right)
  }

  /// Spends guesses, each from a network of its own and after all delays, until none is left or so
  /// many are spent; the time.
  private func spend(_ count: Int, of codes: inout ReceiverCodes, now start: Double = 0) -> Double {
    var now = start
    var number = 0
    for guessed in 0..<count {
      now += 3
      if codes.isWanted { number = codes.issue(code, now: now) }
      let verdict = guess(&codes, number, from: "\(start) \(guessed)", now: now)
      expect(verdict, is: .wrong(attempt: guessed % 3 + 1, left: 98 - guessed))
    }
    return now
  }

  @Test func `ninety-nine wrong guesses exhaust a wait, and nothing is compared any more`() {
    var codes = ReceiverCodes()
    let now = spend(99, of: &codes)
    expect(codes.isExhausted && !codes.isWanted && !codes.isTaken && codes.guessesLeft == 0)
    expect(open(codes, now: now) == nil && codes.expiry == nil)
    for number in 0...34 {
      expect(guess(&codes, number, from: "new", isRight: true, now: now + 1_000), is: .refused(.codeExpired))
    }
    let guessers = codes.tellEnd()
    expect(guessers?.count == 99 && guessers?.allSatisfy { $0.count == 1 } == true && codes.tellEnd() == nil)
  }

  @Test func `the user starts another wait with as many guesses, and only after the last one`() {
    var codes = ReceiverCodes()
    let number = codes.issue(code, now: 0)
    _ = guess(&codes, number, from: "a", now: 0)
    codes.startAnew()
    expect(codes.guessesLeft == 98 && open(codes, now: 0) == number)
    codes = ReceiverCodes()
    let now = spend(99, of: &codes)
    codes.startAnew()
    expect(codes.isWanted && !codes.isExhausted && codes.guessesLeft == 99)
    _ = spend(99, of: &codes, now: now)
    expect(codes.isExhausted)
  }

  @Test func `the last guess of a wait ends a code that has tries left`() {
    var codes = ReceiverCodes()
    // A code expires after one try, so that the ninety-ninth guess is a code's second.
    var number = codes.issue(code, now: 0)
    expect(guess(&codes, number, from: "first", now: 0), is: .wrong(attempt: 1, left: 98))
    expect(codes.expire(now: 600), is: true)
    var now = 600.0
    for guessed in 0..<97 {
      now += 3
      if codes.isWanted { number = codes.issue(code, now: now) }
      _ = guess(&codes, number, from: "\(guessed)", now: now)
    }
    expect(guess(&codes, number, from: "a", now: now + 3), is: .wrong(attempt: 2, left: 0))
    expect(codes.isExhausted && guess(&codes, number, from: "b", now: now + 600) == .refused(.codeExpired))
  }

  @Test func `codes expire without an end and cost nothing`() {
    var codes = ReceiverCodes()
    for round in 1...100 {
      expect(codes.issue(code, now: Double(round) * 1_000), is: round)
      expect(codes.expire(now: Double(round) * 1_000 + 600), is: true)
      expect(codes.isWanted && codes.guessesLeft == 99)
    }
    expect(codes.expire(now: .infinity), is: false)
  }

  @Test func `a delayed guess spends nothing`() {
    var codes = ReceiverCodes()
    let number = codes.issue(code, now: 0)
    expect(guess(&codes, number, from: "a", now: 0), is: .wrong(attempt: 1, left: 98))
    for _ in 0..<10 { expect(guess(&codes, number, from: "a", now: 0.5), is: .refused(.busy)) }
    expect((try? codes.open(for: remote("a"), now: 0.5)) == nil && open(codes, now: 0.5) == number)
    expect(codes.guessesLeft, is: 98)
    expect(guess(&codes, number, from: "a", now: 1), is: .wrong(attempt: 2, left: 97))
  }

  @Test func `the guesses of others postpone one until a moment`() {
    var codes = ReceiverCodes()
    for network in ["0", "1"] {
      let number = codes.issue(code, now: 0)
      _ = guess(&codes, number, from: network, isRight: true, now: 0)
      codes.reopen()
    }
    let number = codes.issue(code, now: 0)
    _ = guess(&codes, number, from: "2", now: 0)
    expect(guess(&codes, number, from: "2", now: 0), is: .refused(.busy))
    expect(guess(&codes, number, from: "a", now: 0), is: .postponed(until: 0.2 * 0.2))
    let stated = codes.judge(number, false, from: remote("a", relay: "relay"), now: 0.1)
    expect(stated, is: .postponed(until: 0.2))
    expect(codes.guessesLeft, is: 96)
    expect(guess(&codes, number, from: "a", isRight: true, now: 0.2 * 0.2), is: .right)
  }

  @Test func `a code lives for 600 seconds and not for one moment more`() {
    var codes = ReceiverCodes()
    let number = codes.issue(code, now: 100)
    expect(codes.expiry, is: 700)
    expect(codes.expire(now: 700.0.nextDown), is: false)
    expect(open(codes, now: 700.0.nextDown), is: number)
    expect(guess(&codes, number, from: "a", now: 700.0.nextDown), is: .wrong(attempt: 1, left: 98))
    expect(guess(&codes, number, from: "b", now: 700), is: .refused(.codeExpired))
    expect(open(codes, now: 700) == nil)
    expect(codes.expire(now: 700), is: true)
    expect(codes.isWanted)
  }

  @Test func `a right code is used up`() {
    var codes = ReceiverCodes()
    let number = codes.issue(code, now: 0)
    expect(guess(&codes, number, from: "a", isRight: true, now: 0), is: .right)
    for isRight in [true, false] {
      expect(guess(&codes, number, from: "b", isRight: isRight, now: 0), is: .refused(.codeExpired))
    }
    expect(codes.isTaken && !codes.isWanted && open(codes, now: 0) == nil && !codes.expire(now: 601))
  }

  @Test func `a failed pairing makes room for another code, and the wait continues`() {
    var codes = ReceiverCodes()
    for round in 1...99 {
      let now = Double(round) * 10
      let number = codes.issue(code, now: now)
      expect(guess(&codes, number, from: "a", isRight: true, now: now), is: .right)
      codes.reopen()
      expect(codes.guessesLeft, is: 99 - round)
      expect(codes.isWanted == (round < 99) && codes.isExhausted == (round == 99))
      expect(guess(&codes, number, from: "b", now: now), is: .refused(.codeExpired))
    }
    codes.reopen()
    expect(codes.isExhausted && codes.tellEnd() == [])
  }

  @Test func `reopening changes nothing while no sender is paired`() {
    var codes = ReceiverCodes()
    let before = codes
    codes.reopen()
    expect(codes, is: before)
    let number = codes.issue(code, now: 0)
    codes.reopen()
    expect(open(codes, now: 0), is: number)
  }
}
