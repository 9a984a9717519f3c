import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Plans, offers and ledgers, as the receiver's engine decides.
@Suite struct ReceiverTransferTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  // MARK: Plans and offers

  @Test func `a plan that continues another transfer, or differs from the first one, ends the run`() {
    let other = "the other device broke the protocol: a plan that is not the first one contradicts an earlier statement"
    for (plan, reason) in [
      (Script.plan(67), "12"), (Script.plan(), "12"),
      (Script.plan(66, roots: [Root(kind: .directory, name: [98])]), "3 \(other)"),
      (Script.plan(66, parts: 2), "3 \(other)"),
    ] {
      var script = Script()
      script.open([Script.known(66, key: 6)])
      script.resume(6, key: 6)
      _ = script.say(Script.greeting(), on: 6)
      expect(
        script.say(.plan(plan), on: 6), is: ["say 6 close \(reason)", "close 6 until 2.0", "note 66"])
    }
  }

  @Test func `a fresh pairing continues no transfer`() {
    var script = Script.paired()
    _ = script.say(Script.greeting())
    expect(
      script.say(.plan(Script.plan(Script.transfer))).first, is: "say 1 close 12")
  }

  @Test func `the first plan that was agreed to applies to all later sessions`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 1, bytes: 9)))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer, roots: [Root(kind: .directory, name: [98])]), on: 3)
    expect(Words.text(script.engine.phase).contains("a plan that is not the first one"))
  }

  @Test func `data may be compressed if both ends can, and only folders have traits`() {
    for (features, plain) in [(Features.zstd, ""), ([], ", plain")] {
      var script = Script.paired()
      script.plan(features: features)
      expect(script.offer(), is: ["stage 1: part 0, 4 for 100, held 0/0\(plain)"])
      expect(script.feed(.staged(number, .success(Script.admitted()))).first, is: "say 1 accept traits")
    }
    var settings = Script.settings()
    settings.greeting = Greeting(role: .receiver, label: "", software: "", features: [])
    var script = Script.paired(settings)
    script.plan()
    expect(script.offer(), is: ["stage 1: part 0, 4 for 100, held 0/0, plain"])
    let app = ReceiverEngine.Admitted(Accept(keys: TransferKeys(hashKey: 2)), held: Tally())
    expect(script.feed(.staged(number, .success(app))).first, is: "say 1 accept")
  }

  // MARK: The ledger

  @Test func `the parts of a ledger are read one after another, each when the previous one is sent`() {
    var script = Script.paired()
    script.plan()
    _ = script.offer()
    expect(script.feed(.drained(Script.id(1))), is: [])
    _ = script.feed(.staged(number, .success(Script.admitted())))
    expect(script.feed(.drained(Script.id(1))), is: [])
    expect(script.feed(Script.part([1])), is: ["say 1 held staged [1]"])
    expect(script.feed(.drained(Script.id(2))), is: [])
    expect(script.feed(.drained(Script.id(1))), is: ["read ledger 1"])
    expect(script.feed(.drained(Script.id(1))), is: [])
    // A part that queues nothing does not drain.
    expect(script.feed(Script.part()), is: ["read ledger 1"])
    expect(
      script.feed(Script.part([2], end: Tally(items: 2, bytes: 3))),
      is: ["say 1 held staged [2]", "open gate 1", "say 1 held end 2/3"])
    expect(script.feed(.drained(Script.id(1))), is: [])
  }

  @Test func `the next part is not read when the session has ended`() {
    var script = Script.paired()
    script.plan()
    _ = script.offer()
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(Script.part([1]))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(script.feed(.drained(Script.id(1))), is: [])
  }

  @Test func `a part is staged with the amount that was staged at its previous offer`() {
    var script = Script()
    script.open()
    script.pair()
    script.plan()
    script.take(held: Tally(items: 3, bytes: 30))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    _ = script.say(Script.greeting(), on: 3)
    expect(script.say(.plan(Script.plan(Script.transfer)), on: 3), is: ["judgePlan 2: [0] of 1 for 100"])
    expect(script.offer(2, on: 3), is: ["stage 2: part 0, 4 for 100, held 3/30"])
  }

  @Test func `the ledger's total is the amount held before, and a returning sender's user is told`() {
    var script = Script.receiving()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer), on: 3)
    _ = script.offer(2, on: 3)
    _ = script.feed(.staged(SessionNumber(2), .success(Script.admitted(held: Tally(items: 2, bytes: 20)))))
    let end = LedgerPage(pages: [], partials: [], end: Tally(items: 2, bytes: 21))
    expect(
      script.feed(.ledger(SessionNumber(2), .success(end))),
      is: [
        "tell resumed 21", "open gate 2", "say 3 held end 2/21",
      ])
    _ = script.finish(2, on: 3)
    _ = script.feed(.syncEnded(SessionNumber(2), nil))
    expect(script.imported().first?.contains("held 21"), is: true)
  }

  @Test func `progress is reported five times a second while data may arrive`() {
    var script = Script.receiving()
    expect(script.engine.nextMoment, is: 0.2)
    expect(script.feed(.timePassed, after: 0.1), is: [])
    expect(script.feed(.timePassed, after: 0.1), is: ["tell progress of 100: receiving of 4/40"])
    expect(script.engine.nextMoment, is: 0.4)
    expect(script.feed(.timePassed, after: 0.1), is: [])
    _ = script.finish()
    expect(script.engine.nextMoment == nil)
    expect(script.feed(.timePassed, after: 1), is: [])
  }
}
