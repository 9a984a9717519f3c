import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Runs of a receiver: their beginnings, and one complete run.
@Suite struct ReceiverRunTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  // MARK: The beginning

  @Test func `transfers of earlier runs are taken back before listening, and then a code is made`() {
    var script = Script()
    expect(script.feed(.begin), is: ["take back"])
    expect(script.engine.nextMoment == nil)
    expect(script.feed(.tookBack(.success([]))), is: ["listen"])
    let listening = Listening(addresses: ["::1"], port: 7, from: ["10.0.0.0/8"])
    expect(
      script.feed(.listening(.success(listening))), is: ["tell listening [\"::1\"] 7 [\"10.0.0.0/8\"]", "make code"])
    expect(script.feed(.codeMade(.success(Script.code))), is: ["tell code \(Script.code.shown) for 600"])
    expect(script.engine.nextMoment, is: 600)
    expect(script.engine.runningWorkers, is: 0)
  }

  @Test func `a receiver in nothing but tunnels says so, unless senders come through a relay`() {
    for waits in [false, true] {
      var settings = Script.settings()
      settings.waitsAtRelay = waits
      var script = Script(settings)
      _ = script.feed(.begin)
      _ = script.feed(.tookBack(.success([])))
      let told = script.feed(.listening(.success(Listening(addresses: ["10.8.0.2"], port: 7, isInTunnels: true))))
      expect(told.contains { $0.contains("VPN") }, is: !waits)
    }
  }

  @Test func `the first import of an earlier run continues, and no code is shown meanwhile`() {
    var script = Script()
    _ = script.feed(.begin)
    let known = [
      Script.known(1, key: 1), Script.known(2, key: 2, concluded: Script.whole),
      Script.known(3, key: 3, concluded: Script.whole),
    ]
    expect(script.feed(.tookBack(.success(known))), is: ["listen"])
    expect(
      script.feed(.listening(.success(Listening(addresses: [], port: 7)))), is: ["tell listening [] 7 []", "import 2"])
    expect(script.engine.runningWorkers, is: 1)
    let progress = ImportProgress(phase: .verifying, done: 1, total: 2)
    expect(script.feed(.importing(2, progress)), is: ["tell progress of 2: verifying of 5/50 at 0.5"])
    expect(
      script.feed(.imported(2, .success(Script.done), Traffic(), refused: [])),
      is: [
        "tell done 5/50, sent 0-0 in 0, held 20, unsent 3, left 0+0, not stored 1"
      ])
    expect(script.engine.nextMoment, is: 60)
    expect(
      script.feed(.timePassed, after: 60),
      is: [
        "finish: 5/50, sent 0-0 in 0, held 20, unsent 3, left 0+0, not stored 1"
      ])
  }

  @Test func `a receiver that is stopped while it takes back transfers ends after that`() {
    var script = Script()
    _ = script.feed(.begin)
    expect(script.feed(.stop(.interrupted)), is: [])
    expect(script.engine.nextMoment, is: EndLimits.workers)
    let concluded = Script.known(2, key: 2, concluded: Script.whole)
    expect(script.feed(.tookBack(.success([concluded])), after: 0.1), is: ["finish: 130 interrupted"])
    expect(script.feed(.stop(.interrupted)), is: [])
  }

  @Test func `an import continues only once the receiver listens, so that nothing is reported after its end`() {
    var script = Script()
    _ = script.feed(.begin)
    let concluded = Script.known(2, key: 2, concluded: Script.whole)
    expect(script.feed(.tookBack(.success([concluded]))), is: ["listen"])
    expect(script.feed(.listening(.failure(Script.broken))), is: ["finish: 1 the disk fails"])
    var stopped = Script()
    _ = stopped.feed(.begin)
    _ = stopped.feed(.tookBack(.success([concluded])))
    expect(stopped.feed(.stop(.interrupted)), is: [])
    expect(
      stopped.feed(.listening(.success(Listening(addresses: [], port: 7)))).contains {
        $0.contains("import")
      }, is: false)
  }

  // MARK: A whole transfer

  @Test func `a transfer proceeds from its code to the receipt`() {
    var script = Script()
    script.open()
    script.come(1)
    expect(script.ask(1), is: ["exchange 1 until 10.0"])
    expect(script.feed(.proved(Script.id(1), isRight: true)), is: ["forget code", "confirm 1 until 10.0"])
    expect(
      script.feed(.ready(Script.id(1), identifier: Script.transfer)), is: ["converse 1", "say 1 greeting of here"])
    expect(script.say(Script.greeting()), is: ["tell paired laptop at 10.0.0.1"])
    expect(script.say(.plan(Script.plan())), is: ["judgePlan 1: [0] of 1 for 100"])
    expect(
      script.feed(Script.planJudged(room: 1000)),
      is: [
        "tell offer 4, 1000 free", "record 1: 1 for 100 of key 1, laptop at 10.0.0.1:9",
      ])
    expect(script.feed(.recorded(number, nil)), is: ["say 1 verdict 100 900 32M 16: taken"])
    expect(script.say(.offer(Script.offer())), is: ["stage 1: part 0, 4 for 100, held 0/0"])
    expect(
      script.feed(.staged(number, .success(Script.admitted()))),
      is: [
        "say 1 accept traits", "sync 1", "read ledger 1",
      ])
    let end = LedgerPage(pages: [], partials: [], end: Tally())
    expect(script.feed(.ledger(number, .success(end))), is: ["open gate 1", "say 1 held end 0/0"])
    expect(script.join(2, stream: 0), is: ["serve 2 in 1 as 0"])
    expect(script.finish(), is: ["shut gate 1", "end sync 1"])
    expect(script.feed(.syncEnded(number, nil)), is: ["import 100 of 1: 5/50"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 5, bytes: 50))), is: [])
    let result = "5/50, sent 50-3 in 2, held 0, unsent 1, left 2+1, not stored 1"
    expect(script.imported(), is: ["tell done \(result)", "say 1 done 5/50"])
    expect(
      script.say(.receipt), is: ["close gate 1", "close 1 until 2.0", "forget 100"])
    expect(script.feed(.noted(Script.transfer)), is: [])
    expect(script.engine.runningWorkers, is: 1)
    expect(script.feed(.closed(Script.id(1))), is: ["finish: \(result)"])
    expect(script.engine.runningWorkers, is: 0)
    expect(script.engine.nextMoment == nil)
  }
}
