import Testing

@testable import MigrationWire

@Suite struct CodeDeskTests {
  @Test func `three wrong tries burn a code, and a burned code is over`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    for tries in 1...2 {
      #expect(desk.attempt(code, now: 1) == .compare)
      #expect(desk.mismatched(code) == .wrong(tries: tries))
      #expect(desk.open(now: 1) == code)
    }
    #expect(desk.attempt(code, now: 1) == .compare)
    #expect(desk.mismatched(code) == .burned)
    #expect(desk.wantsCode && desk.open(now: 1) == nil && desk.expiry == nil)
    #expect(desk.attempt(code, now: 1) == .expired)
    let next = desk.issue(now: 2)
    #expect(next != code)
    #expect(desk.attempt(code, now: 2) == .expired)
    #expect(desk.matched(code) == false)
    #expect(desk.attempt(next, now: 2) == .compare)
  }

  @Test func `five burned codes exhaust the run`() {
    var desk = CodeDesk()
    for round in 1...5 {
      let code = desk.issue(now: 0)
      for _ in 0..<2 {
        #expect(desk.attempt(code, now: 0) == .compare)
        _ = desk.mismatched(code)
      }
      #expect(desk.attempt(code, now: 0) == .compare)
      #expect(desk.mismatched(code) == (round < 5 ? .burned : .exhausted))
    }
    #expect(desk.isExhausted && !desk.wantsCode && !desk.isTaken)
    for number in 0...6 {
      #expect(desk.attempt(number, now: 0) == .expired)
      #expect(desk.matched(number) == false)
    }
  }

  @Test func `five expired codes exhaust the run`() {
    var desk = CodeDesk()
    for round in 1...5 {
      _ = desk.issue(now: Double(round) * 1_000)
      #expect(desk.expire(now: Double(round) * 1_000 + 600) == (round < 5 ? .burned : .exhausted))
    }
    #expect(desk.expire(now: .infinity) == nil)
    #expect(desk.isExhausted)
  }

  @Test func `a code lives for 600 seconds and not for one moment more`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 100)
    #expect(desk.expiry == 700)
    #expect(desk.expire(now: 700.0.nextDown) == nil)
    #expect(desk.open(now: 700.0.nextDown) == code)
    #expect(desk.attempt(code, now: 700.0.nextDown) == .compare)
    #expect(desk.attempt(code, now: 700) == .expired)
    #expect(desk.open(now: 700) == nil)
    #expect(desk.expire(now: 700) == .burned)
    #expect(desk.wantsCode)
  }

  @Test func `a try that was spent in time may still match`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    #expect(desk.attempt(code, now: 599) == .compare)
    #expect(desk.matched(code) == true)
    #expect(desk.isTaken)
    #expect(desk.expire(now: 601) == nil)
  }

  @Test func `a right code is used up`() {
    var desk = CodeDesk()
    let code = desk.issue(now: 0)
    #expect(desk.attempt(code, now: 0) == .compare)
    #expect(desk.attempt(code, now: 0) == .compare)
    #expect(desk.matched(code) == true)
    #expect(desk.matched(code) == false)
    #expect(desk.attempt(code, now: 0) == .expired)
    #expect(desk.open(now: 0) == nil)
    #expect(desk.mismatched(code) == .burned)
    #expect(desk.isTaken && !desk.wantsCode)
  }

  @Test func `a pairing that came to nothing makes room for another code, five at most`() {
    var desk = CodeDesk()
    for round in 1...5 {
      let code = desk.issue(now: 0)
      _ = desk.attempt(code, now: 0)
      #expect(desk.matched(code) == true)
      desk.reopen()
      #expect(desk.wantsCode == (round < 5) && desk.isExhausted == (round == 5))
      #expect(desk.attempt(code, now: 0) == .expired)
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
        exchanges[index].compared = desk.attempt(1, now: 0) == .compare
        exchanges[index].step = exchanges[index].compared ? 1 : 2
      } else {
        if exchanges[index].isRight {
          exchanges[index].won = desk.matched(1)
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
