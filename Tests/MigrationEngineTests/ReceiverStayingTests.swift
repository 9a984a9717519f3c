import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A receiver that stays: successive transfers, and senders that ask about earlier ones.
@Suite struct ReceiverStayingTests {
  private typealias Script = ReceiverScript

  private let first = SessionNumber(1)

  /// The same receiver, after its sender has disconnected; another code is shown.
  private func lingering() -> Script {
    var script = Script.stayingAndAnswered()
    _ = script.feed(.codeMade(.success(Script.code)))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.noted(Script.transfer))
    return script
  }

  private func phase(_ script: Script) -> String { Words.text(script.engine.phase) }

  @Test func `the next code is made as soon as a transfer is done, while its receipt is awaited`() {
    var script = Script.staying()
    script.open()
    script.receive()
    script.conclude()
    let done = script.imported()
    expect(done.contains("say 1 done 5/50"))
    expect(done.last, is: "make code")
    expect(phase(script), is: "open")
    expect(script.feed(.codeMade(.success(Script.code))), is: ["tell code \(Script.code.shown) for 600"])
    expect(script.say(.receipt), is: ["close gate 1", "close 1 until 2.0", "forget 100"])
    expect(script.engine.transfers.isEmpty)
    _ = script.feed(.noted(Script.transfer))
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(phase(script), is: "open")
  }

  @Test func `the receiver waits one minute for a receipt`() {
    var script = Script.stayingAndAnswered()
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(script.engine.nextMoment, is: 60)
    expect(script.feed(.timePassed, after: 60), is: ["close gate 1", "close 1 until 62.0", "release 100"])
  }

  @Test func `a sender that missed the answer gets it again, without disturbing a newly paired sender`() {
    var script = lingering()
    script.pair(2, as: 101)
    expect(phase(script), is: "engaged in 101 by 2")
    script.come(3, key: 1)
    expect(script.feed(.asked(Script.id(3), .resume)), is: ["welcome 3 to resume until 10.0"])
    expect(script.feed(.ready(Script.id(3), identifier: 0)), is: ["converse 3", "say 3 greeting of here"])
    expect(phase(script), is: "engaged in 101 by 2")
    // The user has been told before, and the transfer, which is released, stays as it is.
    script.plan(Script.plan(Script.transfer), on: 3)
    expect(script.feed(Script.planJudged(3, [])), is: ["say 3 verdict 100 900 32M 16: finished"])
    expect(script.say(.offer(Script.offer()), on: 3), is: ["say 3 done 5/50"])
    expect(script.say(.receipt, on: 3), is: ["close 3 until 2.0", "forget 100"])
    script.plan(on: 2)
    script.take(2, on: 2)
    expect(phase(script), is: "engaged in 101 by 2")
  }

  @Test func `each of two finished transfers is reported to the sender that asks`() {
    var script = lingering()
    script.pair(2, as: 101)
    script.plan(on: 2)
    script.take(2, on: 2)
    script.conclude(2, on: 2)
    let other = Done(total: Tally(items: 7, bytes: 70))
    _ = script.feed(.imported(101, .success(other), Traffic(), refused: []))
    _ = script.feed(.broke(Script.id(2), Script.cut))
    for (number, key, total, transfer) in [(3, 1, "5/50", 100), (4, 2, "7/70", 101)]
      as [(UInt64, UInt8, String, TransferID)]
    {
      script.resume(number, key: key)
      expect(script.askAgain(number, on: number, transfer), is: ["say \(number) done \(total)"])
    }
    expect(script.say(.receipt, on: 4).first, is: "close 4 until 2.0")
    expect(script.engine.transfers.map(\.identifier), is: [100])
  }

  @Test func `an open code is shown again after the transfer of a returning sender`() {
    var script = Script.staying()
    script.open([Script.known(Script.transfer, key: 1)])
    _ = script.feed(.noted(Script.transfer))
    script.resume(1, key: 1)
    _ = script.feed(.retook(Script.transfer, .success(Script.known(Script.transfer, key: 1))))
    // While another sender is served, the code cannot be tried, and no try is spent.
    script.come(5)
    expect(script.feed(.asked(Script.id(5), .pair)), is: ["turn away 5: busy at 1"])
    script.plan(Script.plan(Script.transfer))
    script.take(held: Tally(items: 2, bytes: 20))
    script.conclude()
    script.now += 100
    expect(script.imported().last, is: "tell code \(Script.code.shown) for 500")
    script.come(6)
    expect(script.ask(6).first?.hasPrefix("exchange 6"), is: true)
  }

  @Test func `a sender that stays away is reported, its transfer is released and kept, and it may come back any time`()
  {
    var script = Script.staying(giveUpAfter: 30)
    script.open()
    script.receive()
    _ = script.join(2, stream: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 2, bytes: 15)))
    _ = script.feed(.syncEnded(first, nil))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.noted(Script.transfer))
    expect(phase(script).hasPrefix("away 100 until 30"))
    _ = script.feed(.codeMade(.success(Script.code)))
    let over = script.feed(.timePassed, after: 30)
    expect(
      over, is: ["tell failed 5 the other device did not come back: the connection was lost", "release 100"])
    _ = script.feed(.noted(Script.transfer), after: 86_400)
    script.resume(3, key: 1)
    expect(phase(script), is: "engaged in 100 by 2")
    // Its plan waits until the store has read the transfer's state.
    _ = script.say(Script.greeting(), on: 3)
    expect(script.say(.plan(Script.plan(Script.transfer)), on: 3), is: [])
    let known = Script.known(Script.transfer, key: 1, held: Tally(items: 2, bytes: 15))
    expect(
      script.feed(.retook(Script.transfer, .success(known))), is: ["judgePlan 2: [0] of 1 for 100"])
  }

  @Test(arguments: [true, false])
  func `a sender that is away holds no other one, and comes back behind it`(isKnown: Bool) {
    var script = Script.staying()
    script.open(isKnown ? [Script.known(66, key: 6)] : [])
    _ = script.feed(.noted(66))
    script.receive()
    _ = script.join(2, stream: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 2, bytes: 15)))
    _ = script.feed(.syncEnded(first, nil))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.noted(Script.transfer))
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(phase(script).hasPrefix("away 100 until"))
    let turn: [String]
    if isKnown {
      script.come(3, key: 6)
      _ = script.feed(.asked(Script.id(3), .resume))
      turn = script.feed(.ready(Script.id(3), identifier: 77))
    } else {
      script.come(3)
      _ = script.ask(3)
      _ = script.feed(.proved(Script.id(3), isRight: true))
      turn = script.feed(.ready(Script.id(3), identifier: 77))
    }
    expect(turn.contains("tell failed 5 the other device did not come back: the connection was lost"))
    expect(isKnown || turn.contains("release 100"))
    expect(phase(script), is: "engaged in \(isKnown ? 66 : 77) by 2")
    // Its turn comes when the other one is done or away.
    script.come(4, key: 1)
    expect(script.feed(.asked(Script.id(4), .resume)), is: ["turn away 4: busy at 1"])
    expect(script.engine.checkInvariants() == nil)
  }

  @Test func `a transfer that another process discarded is unknown here, and the receiver continues`() {
    var script = Script.staying()
    script.open([Script.known(Script.transfer, key: 1)])
    _ = script.feed(.noted(Script.transfer))
    script.resume(1, key: 1)
    let told = script.feed(.retook(Script.transfer, .success(nil)))
    expect(told.first?.hasPrefix("say 1 close"), is: true)
    expect(told.contains { $0.hasPrefix("tell failed 4") })
    expect(phase(script), is: "open")
    _ = script.feed(.noted(Script.transfer))
    expect(script.engine.transfers.isEmpty)
  }

  @Test func `a failed import is reported at once, and continues when its sender comes back`() {
    var script = Script.staying()
    script.open()
    script.receive()
    script.conclude()
    let failed = script.imported(.failure(Failure(.importFailed, "it cannot be put there")))
    expect(failed.contains("say 1 failed 0 10 it cannot be put there"))
    expect(failed.contains("tell failed 7 it cannot be put there"))
    expect(failed.last, is: "make code")
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(script.say(.failed(Failed(part: 0, Close(.importFailed, "")))), is: [])
    expect(script.say(.receipt), is: ["close gate 1", "close 1 until 2.0", "release 100"])
    expect(script.feed(.closed(Script.id(1))), is: [])
    _ = script.feed(.noted(Script.transfer))
    script.resume(2, key: 1)
    _ = script.say(Script.greeting(), on: 2)
    _ = script.say(.plan(Script.plan(Script.transfer)), on: 2)
    let retook = script.feed(
      .retook(Script.transfer, .success(Script.known(Script.transfer, key: 1, concluded: Script.whole))))
    expect(retook, is: ["import 100", "judgePlan 2: [] of 1 for 100"])
    script.agree(2, [])
    expect(script.say(.offer(Script.offer()), on: 2), is: [])
    expect(script.imported().contains("say 2 done 5/50"))
  }

  @Test(arguments: [true, false])
  func `a failed sync before an import ends a transfer without a session`(keeps: Bool) {
    var settings = Script.settings()
    settings.keeps = keeps
    var script = Script(settings)
    script.open()
    script.receive()
    _ = script.finish()
    // Its sender comes back and disconnects again, while the first session's sync still runs.
    script.resume(2, key: 1)
    _ = script.feed(.broke(Script.id(2), Script.cut))
    _ = script.feed(.closed(Script.id(2)))
    _ = script.feed(.closed(Script.id(1)))
    expect(phase(script), is: "engaged in 100")
    let over = script.feed(.syncEnded(first, Script.broken))
    expect(over.contains("tell failed 1 the disk fails"), is: keeps)
    expect(phase(script).hasPrefix(keeps ? "open" : "finishing"))
  }

  @Test func `a session that brings nothing for two minutes gives way when another sender asks, and only then`() {
    var script = Script.staying()
    script.open()
    script.receive()
    expect(script.feed(.timePassed, after: 119).allSatisfy { $0.hasPrefix("tell progress") || $0.isEmpty })
    script.come(2)
    expect(script.feed(.asked(Script.id(2), .pair)), is: ["turn away 2: busy at 1"])
    script.now += 500
    _ = script.feed(.timePassed)
    expect(phase(script), is: "engaged in 100 by 1")
    // A sender looks whether a receiver is here before its user types a code.
    for mayPair in [false, true] {
      _ = script.feed(.arrived(Script.id(9), Remote(host: "h", network: "h", mayPair: mayPair), chance: 1))
      expect(script.feed(.departed(Script.id(9))), is: (mayPair ? ["look for data 1"] : []))
    }
    script.come(3)
    expect(script.feed(.asked(Script.id(3), .pair)), is: ["look for data 1", "turn away 3: busy at 1"])
    // A frame is being written, or one was less than two minutes ago.
    for moment in [nil, script.now - 119] {
      expect(script.feed(.lookedForData(first, lastAt: moment, held: Tally())), is: [])
    }
    let over = script.feed(.lookedForData(first, lastAt: script.now - 120, held: Tally()))
    expect(over.first?.hasPrefix("say 1 close 16"), is: true, "\(over)")
    _ = script.feed(.syncEnded(first, nil))
    expect(phase(script), is: "open")
    _ = script.feed(.noted(Script.transfer))
    _ = script.feed(.codeMade(.success(Script.code)))
    // Its sender returns at once, and leaves the other one two minutes.
    script.come(4, key: 1)
    expect(script.feed(.asked(Script.id(4), .resume), after: 119), is: ["turn away 4: busy"])
    script.resume(5, key: 1)
    expect(phase(script), is: "open")
    script.now += 1
    script.resume(6, key: 1)
    expect(phase(script), is: "engaged in 100 by 2")
  }

  @Test func `a sender without a plan, or an offer, gives way, and work of this device does not`() {
    for hasPlan in [false, true] {
      var script = Script.staying()
      script.open()
      script.pair()
      if hasPlan {
        script.plan()
        script.agree()
      }
      script.come(2)
      expect(script.feed(.asked(Script.id(2), .pair), after: 120).first?.hasPrefix("say 1 close 16"), is: true)
    }
    for step in 0..<4 {
      var script = Script.staying()
      script.open()
      script.pair()
      script.plan()
      if step > 0 { _ = script.feed(Script.planJudged(room: 1)) }
      if step > 1 { _ = script.feed(.recorded(first, nil)) + script.say(.offer(Script.offer())) }
      if step > 2 { _ = script.feed(.staged(first, .success(Script.admitted()))) }
      script.come(2)
      expect(script.feed(.asked(Script.id(2), .pair), after: 500), is: ["turn away 2: busy at 1"], "\(step)")
    }
    var importing = Script.staying()
    importing.open()
    importing.receive()
    importing.conclude()
    importing.come(2)
    expect(importing.feed(.asked(Script.id(2), .pair), after: 500), is: ["turn away 2: busy at 1"])
    var single = Script()
    single.open()
    single.receive()
    single.come(2)
    expect(single.feed(.asked(Script.id(2), .pair), after: 500).first, is: "turn away 2: busy")
  }

  @Test func `a refusal, and a disk without room, end a transfer and not the run`() {
    for fault in [Failure(.exists, "it is there"), Failure(.noSpace, "there is no room")] {
      var script = Script.staying()
      script.open()
      script.pair()
      script.plan()
      let over = script.feed(Script.planJudged(1, [], refused: [0: fault]))
      expect(over.first, is: "say 1 verdict 100 900 32M 16: refused \(fault.close.code.rawValue)")
      expect(over.contains("tell failed \(fault.kind.rawValue) \(fault.message)"))
      expect(over.last, is: "make code")
      expect(phase(script), is: "open")
      // A later session may find room.
      expect(script.say(.receipt).last, is: (fault.code == .exists ? "forget 100" : "release 100"))
    }
  }

  @Test func `all imports of earlier runs continue in turn, and their senders may ask`() {
    var script = Script.staying()
    _ = script.feed(.begin)
    _ = script.feed(
      .tookBack(
        .success([
          Script.known(77, key: 7, concluded: Script.whole), Script.known(66, key: 6, concluded: Script.whole),
        ])))
    let listening = script.feed(.listening(.success(Listening(addresses: [], port: 1))))
    expect(listening.last, is: "import 77")
    let next = script.feed(.imported(77, .success(Script.done), Traffic(), refused: []))
    expect(next.contains("import 66"))
    _ = script.feed(.imported(66, .success(Script.done), Traffic(), refused: []))
    expect(phase(script), is: "open")
    script.resume(1, key: 7)
    script.resume(2, key: 6)
    for (number, transfer) in [(1, 77), (2, 66)] as [(UInt64, TransferID)] {
      expect(script.askAgain(number, on: number, transfer), is: ["say \(number) done 5/50"])
    }
  }

  @Test func `an import of an earlier run does not wait for the sender of the plan's other parts`() {
    var script = Script.staying()
    _ = script.feed(.begin)
    _ = script.feed(
      .tookBack(
        .success([
          Script.known(77, key: 7, parts: 2, concluded: Script.whole),
          Script.known(66, key: 6, concluded: Script.whole),
        ])))
    _ = script.feed(.listening(.success(Listening(addresses: [], port: 1))))
    expect(script.feed(.imported(77, .success(Script.done), Traffic(), refused: [])).contains("import 66"))
    expect(script.feed(.imported(66, .success(Script.done), Traffic(), refused: [])).contains("make code"))
    expect(phase(script), is: "open")
  }

  @Test func `a stop between transfers ends the run at once, or a moment later while a receipt is awaited`() {
    var idle = Script.staying()
    idle.open()
    expect(idle.feed(.stop(.terminated)).last, is: "finish: 143 interrupted")
    var waiting = Script.stayingAndAnswered()
    _ = waiting.feed(.codeMade(.success(Script.code)))
    expect(waiting.feed(.stop(.interrupted)), is: [])
    expect(waiting.engine.nextMoment, is: EndLimits.lastMessages)
    let receipt = waiting.say(.receipt)
    expect(receipt.contains("forget 100"))
    _ = waiting.feed(.noted(Script.transfer))
    expect(waiting.feed(.closed(Script.id(1))), is: ["finish: 130 interrupted"])
  }

  @Test func `an import finishes after a stop, and then the stop ends the run`() {
    var script = Script.staying()
    script.open()
    script.receive()
    script.conclude()
    expect(script.feed(.stop(.terminated)), is: ["interrupt import 100"])
    let done = script.imported()
    expect(done.contains("say 1 done 5/50") && !done.contains("make code"))
    _ = script.say(.receipt)
    _ = script.feed(.noted(Script.transfer))
    expect(script.feed(.closed(Script.id(1))), is: ["finish: 143 interrupted"])
  }

  @Test func `a limited number of finished transfers stays known`() {
    var script = Script.staying()
    let most = ReceiverEngine.rememberedDone
    let known = (1...most + 8).map { Script.known(TransferID($0), key: UInt8($0), finished: [0]) }
    script.open(known)
    for transfer in known.reversed() { _ = script.feed(.noted(transfer.identifier)) }
    // The newest come first.
    expect(Set(script.engine.transfers.map(\.identifier)), is: Set((1...most).map { TransferID($0) }))
  }
}
