import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A receiver that serves two senders, whose destination has no room for both, or a name that both
/// want.
@Suite struct ReceiverWaitingForRoomTests {
  private typealias Script = ReceiverScript

  private let one = SessionNumber(1)

  /// Key 1 sends transfer 100, of so many parts; key 2 has offered transfer 102, and the
  /// reservation of 100 is in its way.
  private func waiting(parts: Int = 1) -> Script {
    var settings = Script.settings()
    (settings.keeps, settings.atOnce) = (true, 2)
    var script = Script(settings)
    script.open()
    script.pair(1, as: 100)
    _ = script.feed(.codeMade(.success(Script.code)))
    script.plan(Script.plan(parts: parts), on: 1)
    script.agree(1, Array(0..<UInt16(parts)))
    script.take(1, on: 1)
    script.now += 20
    script.pair(2, as: 102)
    script.plan(on: 2)
    expect(script.offer(2, on: 2).contains { $0.hasPrefix("stage") })
    let turned = script.reserved(2)
    expect(turned.contains { $0.hasPrefix("say 2 close 16") }, "\(turned)")
    _ = script.feed(.closed(Script.id(2)))
    expect(Words.text(script.engine.phase).hasPrefix("engaged in 100 by 1; away 102 until"))
    return script
  }

  @Test
  func `a part that others' reservations leave no room comes again, and is told how many reservations come first`() {
    var script = waiting()
    expect(script.returns(12, key: 2).last, is: "turn away 12: busy at 1")
    // Others may come meanwhile: it keeps no place.
    expect(script.engine.isInviting && script.engine.isTurn(of: nil))
    // It waits for longer than a sender may be away.
    for number in 20..<30 as Range<UInt64> {
      script.now += 100
      if script.returns(number, key: 2).last == "turn away \(number): busy at 1" { continue }
      judgeAgain(&script, number)
    }
    expect(script.engine.phase[102] != nil)
  }

  /// The waiting sender, who was let in, offers its part again, and the reservation is still in its
  /// way.
  private func judgeAgain(_ script: inout Script, _ number: UInt64) {
    _ = script.feed(.ready(Script.id(number), identifier: 300))
    let session = script.engine.lastSession
    script.plan(Script.plan(102), on: number)
    _ = script.offer(session, on: number)
    _ = script.reserved(session)
    _ = script.feed(.closed(Script.id(number)))
  }

  @Test func `it is judged again when all of the other part is staged, and when that is done`() {
    var script = waiting()
    script.conclude(1, on: 1)
    expect(script.returns(12, key: 2), is: ["welcome 12 to resume until 30.0"])
    _ = script.feed(.ready(Script.id(12), identifier: 300))
    script.plan(Script.plan(102), on: 12)
    _ = script.offer(3, on: 12)
    // The name is still reserved.
    _ = script.reserved(3)
    _ = script.feed(.closed(Script.id(12)))
    expect(script.returns(13, key: 2), is: ["turn away 13: busy at 1"])
    _ = script.feed(.imported(100, .success(Script.done), Traffic(), refused: []))
    expect(script.returns(14, key: 2), is: ["welcome 14 to resume until 30.0"])
  }

  @Test func `the reservation of a sender that is away does not count`() {
    var script = waiting()
    expect(script.engine.reserving, is: [100])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.syncEnded(one, nil))
    expect(script.engine.reserving, is: [])
    expect(script.returns(12, key: 2).first?.hasPrefix("welcome 12"), is: true)
  }

  @Test func `a session that sends nothing, or hardly anything, gives way to one that waits for its reservation`() {
    for (brings, givesWay) in [(0, true), (200, true), (300, false)] as [(UInt64, Bool)] {
      var script = waiting()
      expect(script.returns(12, key: 2), is: ["look for data 1", "turn away 12: busy at 1"])
      expect(script.look(held: Tally(items: 0, bytes: 10)), is: [])
      script.now += ReceiverEngine.turn - 1
      // Frames come all the time: it is the amount that counts.
      _ = script.returns(13, key: 2)
      expect(script.look(held: Tally(items: 0, bytes: 10 + brings)), is: [])
      script.now += 1
      expect(script.returns(14, key: 2).first?.hasPrefix("welcome 14"), is: true)
      judgeAgain(&script, 14)
      _ = script.returns(15, key: 2)
      let looked = script.look(held: Tally(items: 0, bytes: 10 + brings))
      expect(looked.contains { $0.hasPrefix("say 1 close 16") }, is: givesWay, "\(brings): \(looked)")
    }
  }

  @Test func `one that comes again and again for the same reservation has no more time for it`() {
    var script = waiting()
    _ = script.returns(12, key: 2)
    _ = script.look(held: Tally())
    for number in 21...23 as ClosedRange<UInt64> {
      script.now += 50
      script.resume(number, key: 1)
      _ = script.feed(.syncEnded(one, nil))
    }
    expect(script.engine.phase.sessions, is: [SessionNumber(script.engine.lastSession)])
    expect(script.returns(14, key: 2).first?.hasPrefix("welcome 14"), is: true)
    judgeAgain(&script, 14)
    let turned = script.returns(15, key: 2)
    expect(turned.contains { $0.hasPrefix("say 23 close 16") }, "\(turned)")
  }

  @Test func `what came of the part before counts, and the time of its import does not`() {
    var script = waiting(parts: 2)
    _ = script.returns(12, key: 2)
    _ = script.look(held: Tally())
    script.now += 100
    _ = script.look(held: Tally(items: 0, bytes: 300))
    script.conclude(1, on: 1)
    script.goOn(seconds: 100)
    _ = script.imported()
    script.take(1, on: 1, part: 1)
    expect(script.returns(14, key: 2).first?.hasPrefix("welcome 14"), is: true)
    judgeAgain(&script, 14)
    for (number, seconds, givesWay) in [(15, 19, false), (16, 1, false), (17, 119, false), (18, 1, true)]
      as [(UInt64, Double, Bool)]
    {
      script.now += seconds
      guard script.returns(number, key: 2).first == "look for data 1" else {
        judgeAgain(&script, number)
        _ = script.returns(number + 10, key: 2)
        let looked = script.look(held: Tally())
        expect(looked.contains { $0.hasPrefix("say 1 close 16") }, is: givesWay, "\(number): \(looked)")
        continue
      }
      let looked = script.look(held: Tally())
      expect(looked.contains { $0.hasPrefix("say 1 close 16") }, is: givesWay, "\(number): \(looked)")
    }
  }

  @Test func `a sender that waits for reservations is not forgotten, even if another one has its place`() {
    var script = waiting()
    _ = script.feed(.codeMade(.success(Script.code)))
    script.pair(3, as: 103)
    expect(Words.text(script.engine.phase), is: "engaged in 100 by 1; engaged in 103 by 3")
    expect(script.returns(12, key: 2).last, is: "turn away 12: busy at 1")
    // It comes again for longer than a sender may be away.
    for number in 20..<30 as Range<UInt64> {
      script.now += 100
      _ = script.returns(number, key: 2)
    }
    _ = script.feed(.broke(Script.id(3), Script.cut))
    _ = script.feed(.closed(Script.id(3)))
    expect(script.returns(40, key: 2).first?.hasPrefix("welcome 40"), is: true)
    // Without it, its transfer is dropped as any other of which nothing has arrived.
    var silent = waiting()
    _ = silent.feed(.timePassed, after: 700)
    _ = silent.feed(.codeMade(.success(Script.code)))
    silent.pair(3, as: 103)
    expect(silent.returns(12, key: 2).last, is: "turn away 12: unknownPeer")
  }

  @Test func `one that gave way waits in its turn for the reservation of the other`() {
    var script = waiting()
    _ = script.returns(12, key: 2)
    _ = script.look(held: Tally())
    script.now += ReceiverEngine.turn
    _ = script.returns(13, key: 2)
    judgeAgain(&script, 13)
    _ = script.returns(18, key: 2)
    _ = script.look(held: Tally())
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.syncEnded(one, nil))
    expect(script.returns(14, key: 2).first?.hasPrefix("welcome 14"), is: true)
    _ = script.feed(.ready(Script.id(14), identifier: 300))
    script.plan(Script.plan(102), on: 14)
    script.take(script.engine.lastSession, on: 14)
    expect(script.returns(11, key: 1), is: ["turn away 11: busy"])
    script.now += ReceiverEngine.turn
    expect(script.returns(15, key: 1).first?.hasPrefix("welcome 15"), is: true)
    _ = script.feed(.ready(Script.id(15), identifier: 300))
    script.plan(Script.plan(100), on: 15)
    let session = script.engine.lastSession
    // It was released meanwhile: the store takes it back after its earlier work.
    var done: [String] = []
    while done != ["retake 100"], let task = [100, 102].first(where: { script.engine.workers.contains(.store($0)) }) {
      done = script.feed(.noted(task))
    }
    _ = script.feed(.retook(100, .success(Script.known(100, key: 1))))
    _ = script.offer(session, on: 15)
    let reserved = script.reserved(session)
    expect(reserved.contains { $0.hasPrefix("say 15 close 16") }, "\(reserved)")
  }
}

extension ReceiverScript {
  /// A part is judged: others' reservations are in its way.
  fileprivate mutating func reserved(_ session: UInt64) -> [String] {
    feed(.staged(SessionNumber(session), .failure(Failure(.reserved, "another device sends"))))
  }

  /// The loop looks at session 1, whose last frame has just come.
  fileprivate mutating func look(held: Tally) -> [String] {
    feed(.lookedForData(SessionNumber(1), lastAt: now, held: held))
  }

  /// A sender comes back and asks for a session.
  fileprivate mutating func returns(_ number: UInt64, key: UInt8) -> [String] {
    come(number, key: key)
    return feed(.asked(Self.id(number), .resume))
  }
}
