import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Codes and questions to the user, as the receiver's engine decides.
@Suite struct ReceiverCodeTests {
  private typealias Script = ReceiverScript

  /// A receiver whose user can be asked anything.
  private func asking() -> Script {
    var settings = Script.settings()
    settings.asksConsent = true
    settings.asksRestart = true
    return Script(settings)
  }

  private func guess(_ script: inout Script, _ number: UInt64, isRight: Bool = false) -> [String] {
    script.come(number, host: "h\(number)", key: 99)
    _ = script.ask(number)
    let done = script.feed(.proved(Script.id(number), isRight: isRight))
    _ = script.feed(.departed(Script.id(number)))
    return done
  }

  // MARK: Codes

  @Test func `a code expires after ten minutes, and the next one follows`() {
    var script = Script()
    script.open()
    expect(script.feed(.timePassed, after: 599.9), is: [])
    expect(script.feed(.timePassed, after: 0.1), is: ["forget code", "make code"])
    expect(script.feed(.timePassed, after: 600), is: [])
    script.come(1)
    expect(script.ask(1), is: ["turn away 1: notPairing"])
    expect(
      script.feed(.codeMade(.success(Script.code))), is: ["tell code \(Script.code.shown) for 600"])
    script.come(2)
    expect(script.ask(2), is: ["exchange 2 until 1210.0"])
  }

  @Test func `codes and guesses may use a faster clock`() {
    var settings = Script.settings()
    settings.codeSpeed = 100
    var script = Script(settings)
    script.now = 10
    script.open()
    expect(script.engine.nextMoment, is: 16)
    expect(guess(&script, 1).last, is: "turn away 1: codeMismatch")
    expect(script.feed(.timePassed, after: 5.9), is: [])
    expect(script.feed(.timePassed, after: 0.2), is: ["forget code", "make code"])
  }

  @Test func `PAIR_A is judged by the code and the delays of its moment of arrival`() {
    var script = Script()
    script.open()
    for number in [11, 12] as [UInt64] {
      script.come(number, host: "h1", key: 99)
      expect(script.feed(.asked(Script.id(number), .pair)), is: ["await share \(number) until 10.0"])
    }
    _ = guess(&script, 1)
    expect(script.feed(.shared(Script.id(11))), is: ["turn away 11: busy"])
    expect(script.feed(.shared(Script.id(12)), after: 2), is: ["exchange 12 until 10.0"])
    script.come(13)
    _ = script.feed(.asked(Script.id(13), .pair))
    script.come(14)
    _ = script.feed(.asked(Script.id(14), .pair))
    expect(script.feed(.timePassed, after: 600), is: ["forget code", "make code"])
    expect(script.feed(.shared(Script.id(13))), is: ["turn away 13: notPairing"])
    _ = script.feed(.codeMade(.success(Script.code)))
    script.pair(2)
    expect(script.feed(.shared(Script.id(14))), is: ["turn away 14: busy"])
  }

  @Test func `three wrong proofs spend a code, each is reported, and each delays the next`() {
    var script = Script()
    script.open()
    expect(
      guess(&script, 1), is: ["tell wrong code 1/3 from h1, 98 left", "turn away 1: codeMismatch"])
    script.come(11, host: "h1", key: 99)
    expect(script.ask(11), is: ["turn away 11: busy"])
    script.now += 100
    expect(
      guess(&script, 2), is: ["tell wrong code 2/3 from h2, 97 left", "turn away 2: codeMismatch"])
    script.now += 100
    script.come(4)
    _ = script.ask(4)
    expect(
      guess(&script, 3),
      is: [
        "tell wrong code 3/3 from h3, 96 left", "forget code", "turn away 3: codeMismatch", "make code",
      ])
    // An exchange with the old code does not apply to the new one.
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(script.feed(.proved(Script.id(4), isRight: true)), is: ["turn away 4: codeExpired"])
  }

  /// A receiver at which three networks have spent a code; a fourth one guesses at the next code at a
  /// moment, while two more exchanges of it are open: of the first network, and of a new one.
  private func guessed(at moment: Double) -> Script {
    var script = Script()
    script.open()
    for number in [1, 2, 3] as [UInt64] { _ = guess(&script, number) }
    _ = script.feed(.codeMade(.success(Script.code)), after: 5)
    for (number, host) in [(4, "h4"), (5, "h1"), (6, "h6")] as [(UInt64, String)] {
      script.come(number, host: host)
      expect(script.ask(number), is: ["exchange \(number) until 15.0"])
    }
    script.now = moment
    _ = script.feed(.proved(Script.id(4), isRight: false))
    return script
  }

  @Test func `a proof behind the guess of another network is kept until its delay is over, and judged then`() {
    for isRight in [true, false] {
      var script = guessed(at: 6)
      let kept = ["keep \(isRight ? "right" : "wrong") proof 6 until 6.08"]
      expect(script.feed(.proved(Script.id(6), isRight: isRight)), is: kept)
      // A worker may wake early.
      expect(script.feed(.proved(Script.id(6), isRight: isRight), after: 0.05), is: kept)
      expect(
        script.feed(.proved(Script.id(6), isRight: isRight), after: 0.05),
        is: (isRight
          ? ["forget code", "confirm 6 until 15.0"]
          : ["tell wrong code 2/3 from h6, 94 left", "turn away 6: codeMismatch"]))
    }
  }

  @Test func `a proof behind a guess of its own network, or without time for the delay, spends no try`() {
    var script = guessed(at: 14.95)
    for number in [5, 6] as [UInt64] {
      expect(script.feed(.proved(Script.id(number), isRight: true)), is: ["turn away \(number): busy"])
    }
    script.now += 2
    expect(guess(&script, 7).first, is: "tell wrong code 2/3 from h7, 94 left")
  }

  @Test func `a kept proof ends with its connection, or makes room, and spends no try`() {
    var script = guessed(at: 6)
    _ = script.feed(.proved(Script.id(6), isRight: true))
    expect(script.feed(.departed(Script.id(6))), is: [])
    script.now += 2
    expect(guess(&script, 7).first, is: "tell wrong code 2/3 from h7, 94 left")
  }

  @Test func `a pairing that breaks off after its proof allows another code`() {
    var script = Script()
    script.open()
    script.come(1)
    _ = script.ask(1)
    _ = script.feed(.proved(Script.id(1), isRight: true))
    expect(script.feed(.timePassed, after: 1), is: [])
    expect(script.feed(.departed(Script.id(1))), is: ["make code"])
  }

  @Test func `a pairing that breaks off before its proof changes nothing`() {
    var script = Script()
    script.open()
    script.come(1)
    _ = script.ask(1)
    expect(script.feed(.departed(Script.id(1))), is: [])
    expect(guess(&script, 2, isRight: true), is: ["forget code", "confirm 2 until 10.0"])
  }

  @Test func `a code made after a sender came back is forgotten, and made again when one may pair`() {
    let results: [(Result<PairingCode, Failure>, [String])] = [
      (.success(Script.code), ["tell code \(Script.code.shown) for 600"]), (.failure(Script.broken), []),
    ]
    for (result, expected) in results {
      var script = Script()
      script.open([Script.known(66, key: 6, held: Tally())])
      expect(script.feed(.timePassed, after: 600), is: ["forget code", "make code"])
      script.resume(6, key: 6)
      expect(script.feed(.codeMade(result)), is: ["forget code"])
      expect(script.feed(.broke(Script.id(6), Script.cut)).suffix(2), is: ["make code", "note 66"])
      expect(script.feed(.codeMade(result)), is: expected)
    }
  }

  @Test func `an open code waits while a sender is served, and still expires`() {
    var script = Script()
    script.open([Script.known(66, key: 6, held: Tally())])
    script.resume(6, key: 6)
    expect(script.engine.nextMoment, is: 600)
    expect(script.feed(.timePassed, after: 700), is: ["forget code"])
    expect(script.feed(.broke(Script.id(6), Script.cut)).suffix(2), is: ["make code", "note 66"])
  }

  @Test func `a receiver that cannot make a code ends`() {
    var script = Script()
    _ = script.feed(.begin)
    _ = script.feed(.tookBack(.success([])))
    _ = script.feed(.listening(.success(Listening(addresses: [], port: 1))))
    expect(script.feed(.codeMade(.failure(Script.broken))), is: ["finish: 1 the disk fails"])
  }

  // MARK: A wait without further guesses

  @Test func `without a user a spent wait ends the run, and the guessing addresses are reported once`() {
    var script = Script()
    script.open()
    expect(
      script.spendCodes(),
      is: [
        "tell wrong code 1/3 from h99, 0 left", "forget code", "turn away 99: codeMismatch",
        "tell codes spent 99 99 over", "dismiss 99",
      ])
    expect(
      script.feed(.departed(Script.id(99))),
      is: [
        "finish: 3 too many wrong codes: no new code is shown"
      ])
  }

  @Test func `with a user a spent wait is reported, and another one begins if the user agrees`() {
    var script = asking()
    script.open()
    expect(script.spendCodes().suffix(2), is: ["tell codes spent 99 99", "ask restart"])
    expect(script.feed(.timePassed, after: 1000), is: [])
    expect(script.feed(.answered(true)), is: ["make code"])
    _ = script.feed(.codeMade(.success(Script.code)))
    _ = script.feed(.departed(Script.id(99)))
    expect(script.spendCodes().suffix(2), is: ["tell codes spent 99 99", "ask restart"])
    expect(script.feed(.answered(false)), is: ["dismiss 99"])
  }

  @Test func `without an answer from the user no other wait begins`() {
    var script = asking()
    script.open()
    _ = script.spendCodes()
    _ = script.feed(.departed(Script.id(99)))
    expect(
      script.feed(.answered(nil)), is: ["finish: 3 too many wrong codes: no new code is shown"])
  }

  @Test
  func `a returning sender withdraws the question about codes, and its consent question waits for that`() {
    var script = asking()
    script.open([Script.known(66, key: 6, held: Tally())])
    _ = script.spendCodes()
    script.come(106, key: 6)
    _ = script.feed(.asked(Script.id(106), .resume))
    expect(script.feed(.ready(Script.id(106), identifier: 0)).last, is: "withdraw question")
    // It begins another plan, about which the user was not asked.
    script.plan(Script.plan(parts: 2), on: 106)
    expect(script.feed(Script.planJudged(1, room: 9)), is: ["tell plan of 2, 9 free"])
    // An answer that comes too late is ignored.
    expect(script.feed(.answered(true)), is: ["ask consent to 4, 9 free of laptop at 10.0.0.106:9"])
    expect(script.feed(.broke(Script.id(106), Script.cut)).last, is: "withdraw question")
    expect(script.feed(.answered(true)), is: ["ask restart"])
  }

  // MARK: Consent

  @Test func `the user is asked once about a new transfer, and never about a continued one`() {
    var script = asking()
    script.open([Script.known(66, key: 6)])
    script.resume(6, key: 6)
    script.plan(Script.plan(66), on: 6)
    expect(
      script.feed(Script.planJudged(1, room: 9)).last, is: "record 1: 1 for 66 of key 6, laptop at 10.0.0.6:9")
  }

  @Test func `the question about an offer includes the most bytes that may arrive`() {
    var script = asking()
    script.open()
    script.pair()
    script.plan()
    let examination = ReceiverEngine.Examination(availableBytes: 9, mostBytes: 7)
    expect(
      script.feed(.planJudged(SessionNumber(1), .success([0: .success(examination)]), session: 0)).last,
      is: "ask consent to 4, 9 free, 7 at most of laptop at 10.0.0.1:9")
  }

  @Test func `the question about a newer session's offer waits for the end of the older question`() {
    var script = asking()
    script.open()
    script.pair()
    script.plan()
    _ = script.feed(Script.planJudged(1, room: 9))
    script.come(2, key: 1)
    _ = script.feed(.asked(Script.id(2), .resume))
    expect(script.feed(.ready(Script.id(2), identifier: 0)).last, is: "withdraw question")
    script.plan(on: 2)
    expect(
      script.feed(Script.planJudged(2, room: 8)),
      is: [
        "tell offer 4, 8 free"
      ])
    expect(script.feed(.answered(nil)), is: ["ask consent to 4, 8 free of laptop at 10.0.0.2:9"])
    expect(script.feed(.answered(true)).first?.hasPrefix("record 2"), is: true)
  }
}
