import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The end of a receiver's run, and the effects of a stop.
@Suite struct ReceiverStopTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  // MARK: The end

  @Test func `a stop is reported to the sender, and the run ends when all work has ended`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.join(2, stream: 0)
    expect(
      script.feed(.stop(.terminated)),
      is: [
        "say 1 close 2", "close gate 1", "end stream 2",
        "end sync 1", "close 1 until 0.4",
      ])
    expect(script.feed(.received(Script.id(1), .ping(1))), is: [])
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(script.feed(.syncEnded(number, nil)), is: [])
    expect(
      script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 1, bytes: 1))), is: ["note 100"])
    expect(script.feed(.noted(Script.transfer)), is: ["finish: 143 interrupted"])
  }

  @Test func `a hanging disk delays a stop by a moment at most`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.join(2, stream: 0)
    _ = script.feed(.stop(.terminated), after: 5)
    expect(script.engine.nextMoment, is: 5 + EndLimits.workers)
    expect(script.feed(.timePassed, after: 0.8), is: [])
    expect(script.feed(.timePassed, after: 0.2), is: ["finish: 143 interrupted"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
    expect(script.feed(.arrived(Script.id(50), Remote(host: "h", network: "n"), chance: 0)), is: [])
  }

  @Test func `a hanging disk delays a stop no longer if the sender breaks the protocol behind DONE`() {
    var script = ReceiverState.answered.script()
    _ = script.feed(.broke(Script.id(1), Failure(.violation, "nonsense")))
    _ = script.feed(.stop(.terminated))
    expect(script.feed(.timePassed, after: EndLimits.workers).last?.hasPrefix("finish: 5/50"), is: true)
  }

  @Test func `a stop speeds up a run that is already ending, and does not slow it down`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.join(2, stream: 0)
    _ = script.feed(.received(Script.id(1), .receipt))
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally()))
    _ = script.feed(.syncEnded(number, nil))
    expect(script.engine.nextMoment, is: EndLimits.unhurried)
    _ = script.feed(.stop(.terminated), after: 0.1)
    expect(script.engine.nextMoment, is: 0.1 + EndLimits.workers)
    _ = script.feed(.stop(.interrupted), after: 0.5)
    expect(script.engine.nextMoment, is: 0.1 + EndLimits.workers)
  }

  @Test func `a stop hurries a connection that is being closed at leisure, but no closed one`() {
    var script = Script()
    script.open()
    script.receive()
    let violation = Failure(.violation, "nonsense")
    expect(script.feed(.broke(Script.id(1), violation)).last, is: "close 1 until 2.0")
    // The session has ended, and its connection has not.
    _ = script.feed(.syncEnded(number, nil))
    _ = script.feed(.noted(Script.transfer))
    var closed = script
    _ = closed.feed(.closed(Script.id(1)))
    expect(script.feed(.stop(.terminated), after: 0.1), is: ["hurry to close 1 until 0.5"])
    expect(!closed.feed(.stop(.terminated), after: 0.1).contains { $0.hasPrefix("hurry") })
  }

  @Test func `a stop late in an ending run does not lengthen it`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.feed(.received(Script.id(1), .receipt))
    _ = script.feed(.syncEnded(number, nil))
    _ = script.feed(.stop(.terminated), after: 1.5)
    expect(script.engine.nextMoment, is: EndLimits.unhurried)
  }

  @Test func `a sender without RECEIPT does not keep a run from ending after a stop`() {
    var before = Script()
    before.open()
    before.receive()
    before.conclude()
    _ = before.feed(.stop(.terminated))
    before.goOn(seconds: 5)
    _ = before.imported()
    var after = Script()
    after.open()
    after.receive()
    after.conclude()
    _ = after.feed(.timePassed, after: 5)
    _ = after.imported()
    _ = after.feed(.stop(.terminated))
    var late = after
    late.resume(3, key: 1)
    for (script, id) in [(before, 1), (after, 1), (late, 3)] as [(Script, UInt64)] {
      var script = script
      expect(script.engine.nextMoment, is: 5 + EndLimits.lastMessages)
      _ = script.feed(.stop(.terminated), after: 0.1)
      expect(script.engine.nextMoment, is: 5 + EndLimits.lastMessages)
      let done = script.feed(.timePassed, after: 0.31)
      expect(done.contains { $0.hasPrefix("close \(id) until 5.8") })
      if id == 3 { _ = script.feed(.closed(Script.id(1))) }
      expect(script.engine.nextMoment ?? 0 > 5.8)
      expect(script.feed(.closed(Script.id(id))).map { $0.prefix(12) }, is: ["finish: 5/50"])
      expect(script.engine.nextMoment == nil)
    }
  }

  @Test func `the receiver does not wait for a sender that is lost after a stop when its import ends`() {
    var script = Script()
    script.open()
    script.receive()
    script.conclude()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.stop(.terminated))
    expect(script.imported().map { $0.prefix(9) }, is: ["tell done", "finish: 5"])
  }

  @Test func `the receiver does not wait for a sender that is lost after DONE and a stop`() {
    var script = Script()
    script.open()
    script.receive()
    script.conclude()
    _ = script.imported()
    _ = script.feed(.stop(.terminated))
    expect(
      script.feed(.broke(Script.id(1), Script.cut)).map { $0.prefix(9) },
      is: [
        "say 1 clo", "close gat", "close 1 u",
      ])
    expect(script.feed(.closed(Script.id(1))).map { $0.prefix(9) }, is: ["finish: 5"])
  }

  @Test func `a failure in progress when the user stops decides the outcome of the run`() {
    for (fault, outcome) in [(Script.broken, "finish: 1 the disk fails"), (Script.cut, "finish: 143 interrupted")] {
      var script = Script()
      script.open()
      script.receive()
      _ = script.feed(.broke(Script.id(1), fault))
      _ = script.feed(.closed(Script.id(1)))
      expect(script.feed(.stop(.terminated)), is: [])
      _ = script.feed(.syncEnded(number, nil))
      expect(script.feed(.noted(Script.transfer)), is: [outcome])
    }
  }

  @Test func `every connection before READY is dismissed at the end, and is closed by its last message`() {
    var script = Script()
    script.open()
    script.come(5)
    script.come(6)
    _ = script.ask(6)
    script.come(7)
    _ = script.feed(.asked(Script.id(7), .resume))
    _ = script.feed(.arrived(Script.id(8), Remote(host: "h", network: "n"), chance: 0))
    expect(script.feed(.stop(.terminated)), is: ["dismiss 5", "dismiss 6", "dismiss 7", "drop 8"])
    expect(script.feed(.arrived(Script.id(9), Remote(host: "h", network: "n"), chance: 0)), is: ["drop 9"])
    expect(script.feed(.spoke(Script.id(9))), is: [])
    expect(script.feed(.secured(Script.id(5), Script.key(5))), is: [])
    expect(script.ask(5), is: ["drop 5"])
    expect(script.feed(.proved(Script.id(6), isRight: true)), is: ["drop 6"])
    expect(script.feed(.departed(Script.id(7))), is: ["finish: 143 interrupted"])
  }
}
