import Testing

@testable import MigrationWire

@Suite struct CodeDeskTests {
  @Test func `three wrong tries burn a code, and a burned code is over`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    for tries in 1...2 {
      #expect(desk.attempt(code, from: "\(tries)", now: 1) == .compare)
      #expect(desk.mismatched(code) == .wrong(tries: tries))
      #expect(desk.open(now: 1) == code)
    }
    #expect(desk.attempt(code, from: "3", now: 1) == .compare)
    #expect(desk.mismatched(code) == .burned)
    #expect(desk.wantsCode && desk.open(now: 1) == nil && desk.expiry == nil)
    #expect(desk.attempt(code, from: "4", now: 1) == .expired)
    let next = desk.issue(now: 2)
    #expect(next != code)
    #expect(desk.attempt(code, from: "4", now: 2) == .expired)
    #expect(desk.matched(code, from: "4") == false)
    #expect(desk.attempt(next, from: "4", now: 2) == .compare)
  }

  /// Spends guesses, each from a network of its own and after all delays, until none is left or so many are spent; the time.
  private func spend(_ count: Int, of desk: inout CodeDesk, now start: Double = 0) -> Double {
    var now = start
    for number in 0..<count {
      now += 3
      let code = desk.wantsCode ? desk.issue(now: now) : desk.open(now: now)
      guard let code, desk.attempt(code, from: "\(start) \(number)", now: now) == .compare else {
        Issue.record("guess \(number) is compared")
        return now
      }
      let consequence = desk.mismatched(code)
      let expected: CodeDesk.Consequence =
        number == 98 ? .exhausted : number % 3 == 2 ? .burned : .wrong(tries: number % 3 + 1)
      #expect(consequence == expected)
    }
    return now
  }

  @Test func `ninety-nine wrong guesses exhaust a wait, and nothing is compared any more`() {
    var desk = CodeDesk()
    let now = spend(99, of: &desk)
    #expect(desk.isExhausted && !desk.wantsCode && !desk.isTaken && desk.guessesLeft == 0)
    #expect(desk.open(now: now) == nil && desk.expiry == nil)
    for number in 0...34 {
      #expect(desk.attempt(number, from: "new", now: now + 1_000) == .expired)
      #expect(desk.matched(number, from: "new") == false)
    }
    #expect(desk.guessers.count == 99 && desk.guessers.allSatisfy { $0.count == 1 })
  }

  @Test func `the user starts another wait with as many guesses, and only after the last one`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    #expect(desk.attempt(code, from: "a", now: 0) == .compare)
    _ = desk.mismatched(code)
    desk.startAnew()
    #expect(desk.guessesLeft == 98 && desk.open(now: 0) == code)
    desk = CodeDesk()
    let now = spend(99, of: &desk)
    desk.startAnew()
    #expect(desk.wantsCode && !desk.isExhausted && desk.guessesLeft == 99 && desk.guessers.isEmpty)
    _ = spend(99, of: &desk, now: now)
    #expect(desk.isExhausted)
  }

  @Test func `the last guess of a wait ends a code that has tries left`() {
    var desk = CodeDesk()
    // A code expires after one try, so that the ninety-ninth guess is a code's second.
    let first = desk.issue(now: 0)
    #expect(desk.attempt(first, from: "first", now: 0) == .compare)
    #expect(desk.mismatched(first) == .wrong(tries: 1))
    #expect(desk.expire(now: 600) == true)
    var now = 600.0
    for number in 0..<97 {
      now += 3
      let code = desk.wantsCode ? desk.issue(now: now) : desk.open(now: now)!
      #expect(desk.attempt(code, from: "\(number)", now: now) == .compare)
      _ = desk.mismatched(code)
    }
    let last = desk.open(now: now)!
    #expect(desk.attempt(last, from: "a", now: now + 3) == .compare)
    #expect(desk.attempt(last, from: "b", now: now + 600) == .expired)
    #expect(desk.mismatched(last) == .exhausted)
  }

  @Test func `codes expire without an end and cost nothing`() {
    var desk = CodeDesk()
    for round in 1...100 {
      let code = desk.issue(now: Double(round) * 1_000)
      #expect(code == round)
      #expect(desk.expire(now: Double(round) * 1_000 + 600) == true)
      #expect(desk.wantsCode && desk.guessesLeft == 99)
    }
    #expect(desk.expire(now: .infinity) == false)
  }

  @Test func `a delayed guess spends nothing`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    #expect(desk.attempt(code, from: "a", now: 0) == .compare)
    // Before it is known whether the first was right: exchanges side by side get no further.
    for _ in 0..<10 { #expect(desk.attempt(code, from: "a", now: 0.5) == .delayed) }
    #expect(desk.guessesLeft == 98 && desk.delays("a", now: 0.5) && !desk.delays("b", now: 0.5))
    #expect(desk.mismatched(code) == .wrong(tries: 1))
    #expect(desk.attempt(code, from: "a", now: 1) == .compare)
    #expect(desk.mismatched(code) == .wrong(tries: 2))
  }

  @Test func `a code lives for 600 seconds and not for one moment more`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 100)
    #expect(desk.expiry == 700)
    #expect(desk.expire(now: 700.0.nextDown) == false)
    #expect(desk.open(now: 700.0.nextDown) == code)
    #expect(desk.attempt(code, from: "a", now: 700.0.nextDown) == .compare)
    #expect(desk.attempt(code, from: "b", now: 700) == .expired)
    #expect(desk.open(now: 700) == nil)
    #expect(desk.expire(now: 700) == true)
    #expect(desk.wantsCode)
  }

  @Test func `a try that was spent in time may still match`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    #expect(desk.attempt(code, from: "a", now: 599) == .compare)
    #expect(desk.matched(code, from: "a") == true)
    #expect(desk.isTaken)
    #expect(desk.expire(now: 601) == false)
  }

  @Test func `a right code is used up`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    #expect(desk.attempt(code, from: "a", now: 0) == .compare)
    #expect(desk.attempt(code, from: "b", now: 0) == .compare)
    #expect(desk.matched(code, from: "a") == true)
    #expect(desk.matched(code, from: "b") == false)
    #expect(desk.attempt(code, from: "c", now: 0) == .expired)
    #expect(desk.open(now: 0) == nil)
    #expect(desk.mismatched(code) == .burned)
    #expect(desk.isTaken && !desk.wantsCode)
  }

  @Test func `a pairing that came to nothing makes room for another code, and the wait goes on`() {
    var desk = CodeDesk()
    for round in 1...99 {
      let now = Double(round) * 10
      let code = desk.issue(now: now)
      #expect(desk.attempt(code, from: "a", now: now) == .compare)
      #expect(desk.matched(code, from: "a") == true)
      #expect(desk.guessers.isEmpty)
      desk.reopen()
      #expect(desk.guessesLeft == 99 - round)
      #expect(desk.wantsCode == (round < 99) && desk.isExhausted == (round == 99))
      #expect(desk.attempt(code, from: "b", now: now) == .expired)
    }
    desk.reopen()
    #expect(desk.isExhausted)
  }

  @Test func `reopening changes nothing while nobody is paired`() {
    var desk = CodeDesk()
    let before = desk
    desk.reopen()
    #expect(desk == before)
    let code = desk.issue(now: 0)
    desk.reopen()
    #expect(desk.open(now: 0) == code)
  }

  /// One connection's exchange: it tries, then its confirmation proves right or wrong.
  private struct Exchange {
    let isRight: Bool
    var step = 0
    var compared = false
    var won = false
  }

  /// Runs every interleaving of the exchanges' steps.
  private func interleave(_ desk: CodeDesk, _ exchanges: [Exchange], _ check: ([Exchange], CodeDesk) -> Void) {
    var isOver = true
    for index in exchanges.indices where exchanges[index].step < 2 {
      isOver = false
      var (desk, exchanges) = (desk, exchanges)
      if exchanges[index].step == 0 {
        exchanges[index].compared = desk.attempt(1, from: "\(index)", now: 0) == .compare
        exchanges[index].step = exchanges[index].compared ? 1 : 2
      } else {
        if exchanges[index].isRight {
          exchanges[index].won = desk.matched(1, from: "\(index)")
        } else {
          _ = desk.mismatched(1)
        }
        exchanges[index].step = 2
      }
      interleave(desk, exchanges, check)
    }
    if isOver { check(exchanges, desk) }
  }

  @Test(arguments: 0..<16)
  func `however four exchanges interleave, at most three are compared and one wins`(rights: Int) {
    var desk = CodeDesk()
    _ = desk.issue(now: 0)
    let exchanges = (0..<4).map { Exchange(isRight: rights >> $0 & 1 == 1) }
    var runs = 0
    interleave(desk, exchanges) { exchanges, desk in
      runs += 1
      let (compared, won) = (exchanges.filter(\.compared), exchanges.filter(\.won))
      guard compared.count <= 3, won.count <= 1, won.allSatisfy({ $0.isRight && $0.compared }),
        desk.isTaken == (won.count == 1), compared.count == 3 || desk.isTaken
      else {
        Issue.record("\(exchanges)")
        return
      }
    }
    #expect(runs > 24)
  }
}
