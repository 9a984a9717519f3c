import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Sessions of a sender: how newer ones replace older ones, and the consequences when one ends.
@Suite struct ReceiverSessionTests {
  private typealias Script = ReceiverScript
  private let first = SessionNumber(1)
  private let second = SessionNumber(2)

  private func receiving() -> Script {
    var script = Script()
    script.open()
    script.receive()
    return script
  }

  // MARK: Newer and older

  @Test func `a newer session's plan is judged when all workers of the older one have ended`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    script.come(3, key: 1)
    _ = script.feed(.asked(Script.id(3), .resume))
    expect(
      script.feed(.ready(Script.id(3), identifier: 0)),
      is: [
        "say 1 close 13", "close gate 1", "end stream 2", "end sync 1",
        "close 1 until 2.0", "converse 3", "say 3 greeting of here",
      ])
    script.plan(Script.plan(Script.transfer), on: 3)
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(script.feed(.syncEnded(first, nil)), is: [])
    expect(
      script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 1, bytes: 9))),
      is: [
        "judgePlan 2: [0] of 1 for 100", "note 100",
      ])
    expect(script.feed(Script.planJudged(room: 1)), is: [])
    expect(
      script.feed(Script.planJudged(2, room: 1)),
      is: [
        "tell offer 4, 1 free", "record 2: 1 for 100 of key 1, laptop at 10.0.0.3:9",
      ])
  }

  @Test func `a receiver answers PING with its token`() {
    var script = receiving()
    expect(script.say(.ping(9)), is: ["say 1 pong 9"])
  }

  @Test func `late events of an older session do not affect the newer one`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    script.resume(3, key: 1)
    // The failure of its stream does not fail the transfer.
    expect(script.feed(.streamEnded(Script.id(2), .failed(Script.broken), held: Tally(items: 1, bytes: 9))), is: [])
    expect(script.feed(.syncEnded(first, nil)), is: ["note 100"])
    expect(script.feed(.received(Script.id(1), .finish(Script.finish))), is: [])
    expect(script.feed(.broke(Script.id(1), Script.cut)), is: [])
    expect(script.feed(.drained(Script.id(1))), is: [])
    expect(script.say(Script.greeting(), on: 3), is: [])
    script.now += 1
    expect(script.feed(.timePassed), is: [])
  }

  @Test func `each stage of a plan and an offer is abandoned when a newer session comes`() {
    for stage in 0..<6 {
      var script = Script()
      script.open()
      script.pair()
      script.plan()
      let steps: [ReceiverEngine.Event] = [
        Script.planJudged(), .recorded(first, nil), .received(Script.id(1), .offer(Script.offer())),
        .staged(first, .success(Script.admitted())),
        .ledger(first, .success(LedgerPage(pages: [], partials: [], end: Tally()))),
      ]
      for step in steps.prefix(stage) { _ = script.feed(step) }
      script.resume(3, key: 1)
      script.plan(on: 3)
      var late: [String] = []
      if stage < 5 { late += script.feed(steps[stage]) }
      late += script.feed(.syncEnded(first, nil))
      let ends = stage < 1 ? [] : ["note 100"]
      // Between the verdict and the offer nothing works for a session.
      expect(late, is: (stage == 2 ? [] : ["judgePlan 2: [0] of 1 for 100"] + ends), "\(stage)")
    }
  }

  @Test func `a FINISH before a newer session holds, and pending drops are done first`() {
    var script = Script()
    script.open()
    script.pair()
    script.plan()
    _ = script.offer()
    _ = script.feed(.staged(first, .success(Script.admitted())))
    let part = LedgerPage(pages: [Held(kind: .staged, marks: [1, 2, 3])], partials: [], end: Tally())
    _ = script.feed(.ledger(first, .success(part)))
    expect(script.say(.drop([1])), is: ["drop items 1: [1]"])
    expect(script.say(.drop([2, 3])), is: [])
    expect(script.finish(), is: ["shut gate 1", "end sync 1"])
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer), on: 3)
    expect(script.feed(.syncEnded(first, nil)), is: [])
    expect(script.feed(.dropped(first, nil)), is: ["drop items 1: [2, 3]"])
    expect(script.feed(.dropped(first, nil)), is: ["import 100 of 1: 5/50", "judgePlan 2: [] of 1 for 100"])
    expect(script.offer(2, on: 3), is: [])
    expect(script.imported().suffix(1), is: ["say 3 done 5/50"])
  }

  @Test func `pending drops of a session that was cut are not done`() {
    var script = Script()
    script.open()
    script.pair()
    script.plan()
    _ = script.offer()
    _ = script.feed(.staged(first, .success(Script.admitted())))
    let part = LedgerPage(pages: [Held(kind: .staged, marks: [1, 2, 3])], partials: [], end: Tally())
    _ = script.feed(.ledger(first, .success(part)))
    _ = script.say(.drop([1]))
    _ = script.say(.drop([2]))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(first, nil))
    expect(script.feed(.dropped(first, nil)).first, is: "tell interrupted: the connection was lost")
  }

  @Test func `a session that comes during an import waits for its result, and receives it`() {
    var script = receiving()
    script.conclude()
    script.resume(3, key: 1)
    expect(script.say(Script.greeting(), on: 3), is: [])
    expect(script.say(.plan(Script.plan(Script.transfer)), on: 3), is: ["judgePlan 2: [] of 1 for 100"])
    expect(script.agree(2, []), is: ["say 3 verdict 100 900 32M 16: taken"])
    expect(script.say(.offer(Script.offer()), on: 3), is: [])
    let progress = ImportProgress(phase: .importing, done: 1, total: 2)
    expect(script.feed(.importing(Script.transfer, progress)), is: ["tell progress of 100: importing of 5/50 at 0.5"])
    expect(script.imported().map { $0.prefix(10) }, is: ["tell done ", "say 3 done"])
    expect(script.say(.receipt, on: 3).first, is: "close 3 until 2.0")
  }

  @Test func `a session that comes during an import learns of its failure`() {
    var script = receiving()
    script.conclude()
    script.resume(3, key: 1)
    expect(script.askAgain(2, on: 3), is: [])
    expect(script.imported(.failure(Script.broken)), is: ["say 3 failed 0 9", "discard data 2"])
    _ = script.say(.failed(Failed(part: 0, Close(.storage, ""))), on: 3)
    expect(script.say(.receipt, on: 3), is: ["close 3 until 2.0"])
    _ = script.feed(.closed(Script.id(1)))
    expect(script.feed(.closed(Script.id(3))), is: ["finish: 1 the disk fails"])
  }

  @Test func `a session whose offer comes after the end of the import gets the result then`() {
    var script = receiving()
    script.conclude()
    script.resume(3, key: 1)
    expect(script.imported().map { $0.prefix(10) }, is: ["tell done "])
    expect(script.askAgain(2, on: 3), is: ["say 3 done 5/50"])
  }

  @Test func `an import continues after its sender is lost, and its result is kept a minute for the sender`() {
    var script = receiving()
    script.conclude()
    expect(
      script.feed(.broke(Script.id(1), Script.cut)),
      is: [
        "say 1 close 16", "close gate 1", "close 1 until 2.0",
      ])
    expect(script.feed(.timePassed, after: 700), is: [])
    expect(script.imported().count, is: 1)
    expect(script.engine.nextMoment, is: 760)
    script.resume(3, key: 1)
    expect(script.feed(.timePassed, after: 100), is: [])
    expect(script.askAgain(2, on: 3), is: ["say 3 done 5/50"])
    expect(script.feed(.broke(Script.id(3), Script.cut)).last, is: "close 3 until 802.0")
    expect(script.engine.nextMoment, is: 860)
  }

  // MARK: Other transfers

  @Test func `an empty transfer is replaced by another pairing, and discarded when its workers have ended`() {
    var script = Script()
    script.open([Script.known(66, key: 6, held: Tally()), Script.known(77, key: 7)])
    script.resume(6, key: 6)
    script.plan(Script.plan(66), on: 6)
    // The session of the first one is fenced off while its plan is judged.
    script.resume(7, key: 7)
    _ = script.feed(.broke(Script.id(7), Script.cut))
    expect(Words.text(script.engine.phase).hasPrefix("away 77"))
    var other = Script()
    other.open([Script.known(66, key: 6, held: Tally()), Script.known(77, key: 7, held: Tally())])
    other.resume(6, key: 6)
    other.plan(Script.plan(66), on: 6)
    other.resume(7, key: 7)
    _ = other.feed(.broke(Script.id(7), Script.cut))
    _ = other.feed(.noted(77))
    expect(other.engine.isInviting)
    other.come(1)
    _ = other.ask(1)
    _ = other.feed(.proved(Script.id(1), isRight: true))
    expect(
      other.feed(.ready(Script.id(1), identifier: Script.transfer)),
      is: [
        "converse 1", "say 1 greeting of here", "discard 77",
      ])
    expect(other.feed(Script.planJudged(1, [], refused: [0: Script.broken])), is: [])
    expect(other.feed(.noted(77)), is: ["discard 66"])
    _ = other.feed(.noted(66))
    other.come(8, key: 6)
    expect(other.feed(.asked(Script.id(8), .resume)).last, is: "turn away 8: unknownPeer")
  }

  @Test func `a session is under way until all its workers have ended`() {
    var script = Script()
    script.open()
    expect(!script.engine.isUnderWay(first))
    script.receive()
    expect(script.engine.isUnderWay(first))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(script.engine.isUnderWay(first))
    _ = script.feed(.syncEnded(first, nil))
    expect(!script.engine.isUnderWay(first))
  }

  @Test func `a transfer with staged data occupies the receiver`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 0, bytes: 1)))
    expect(script.feed(.syncEnded(first, nil)), is: ["tell interrupted: the connection was lost", "note 100"])
    expect(!script.engine.isInviting)
  }

  @Test func `streams that end together are counted in any order of their events`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1)
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 3, bytes: 9)))
    _ = script.feed(.streamEnded(Script.id(3), .over, held: Tally(items: 2, bytes: 7)))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(first, nil))
    script.resume(4, key: 1)
    _ = script.say(Script.greeting(), on: 4)
    expect(script.say(.plan(Script.plan(Script.transfer)), on: 4), is: ["judgePlan 2: [0] of 1 for 100"])
    expect(script.offer(2, on: 4), is: ["stage 2: part 0, 4 for 100, held 3/9"])
  }

  @Test func `the store gets one task at a time`() {
    var script = receiving()
    script.conclude()
    _ = script.imported()
    var lost = receiving()
    _ = lost.feed(.broke(Script.id(1), Script.cut))
    expect(lost.feed(.syncEnded(first, nil)).last, is: "note 100")
    lost.resume(3, key: 1)
    lost.plan(Script.plan(Script.transfer), on: 3)
    lost.take(2, on: 3)
    expect(lost.feed(.broke(Script.id(3), Script.cut)).contains("note 100"), is: false)
    expect(lost.feed(.syncEnded(second, nil)).contains("note 100"), is: false)
    expect(lost.feed(.noted(Script.transfer)), is: ["note 100"])
    expect(lost.feed(.noted(Script.transfer)), is: [])
  }
}
