import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

extension SenderTrial {
  /// The connection is cut, and everything of the session ends.
  @discardableResult
  mutating func cut(_ fault: Failure = Fixture.cut, brought: Bool = false, spread: Double = 0) -> [String] {
    take(.broke(ConnectionID(connection), fault))
    take(.exported(session, .failure(Fixture.cut)))
    for stream in 0..<8 as Range<UInt32> { end(stream, .stopped) }
    close(spread: spread)
    return take(.window(session, Fixture.counts { $0.hasProgressed = brought }))
  }

  /// Comes back, and proceeds to the ledger's end.
  mutating func comeBack(after seconds: Double = 10) -> [String] {
    take(.noted(77))
    pass(seconds)
    meet()
    return stream(held: Tally(items: 0, bytes: 30))
  }
}

/// The sequence of sessions, and the facts that a session takes over from the previous one.
@Suite struct SenderSessionTests {
  private let note = "note 77 4/400 of 10/1000 at host:7"

  @Test func `a session has ended when its connection is closed and all its workers have ended, in any order`() {
    let events: [SenderEngine.Event] = [
      .closed(ConnectionID(1), spread: 0), .exported(SessionNumber(1), .success(.little)),
      .streamEnded(SessionNumber(1), 0, .lost(hasBrought: true)),
    ]
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      var trial = SenderTrial.streaming()
      trial.take(.broke(ConnectionID(1), Fixture.cut))
      expect(trial.take(events[order[0]]), is: [])
      expect(trial.take(events[order[1]]), is: [])
      expect(trial.take(events[order[2]]), is: ["read window 1"])
    }
  }

  @Test func `a session waits for a running read of the window`() {
    var trial = SenderTrial.streaming()
    expect(trial.pass(0.1), is: ["read window 1"])
    trial.take(.broke(ConnectionID(1), Fixture.cut))
    trial.take(.exported(SessionNumber(1), .failure(Fixture.cut)))
    trial.end(0, .stopped)
    expect(trial.close(), is: [])
    expect(trial.take(.window(SessionNumber(1), Fixture.counts)), is: ["read window 1"])
  }

  @Test func `events of an ending session have no effect`() {
    var trial = SenderTrial.streaming()
    trial.take(.broke(ConnectionID(1), Fixture.cut))
    expect(trial.hear(.ping(1)), is: [])
    expect(trial.hear(.close(Close(.noSpace, "full"))), is: [])
    expect(trial.take(.unsent(SessionNumber(1), Fixture.unsent)), is: [])
    expect(trial.join(0), is: [])
    expect(trial.pass(1), is: [])
    expect(trial.engine.nextMoment == nil)
  }

  @Test func `a session before its export has no window, and is recorded only if its transfer has a name`() {
    var trial = SenderTrial.inState("planned")
    trial.take(.broke(ConnectionID(1), Fixture.cut))
    expect(trial.close(), is: ["tell interrupted cut"])
    // The transfer has no name yet, and the receiver knows this device by its key.
    expect(trial.pass(1), is: ["dial to resume the paired"])

    var named = SenderTrial.inState("offered")
    named.take(.broke(ConnectionID(1), Fixture.cut))
    expect(named.close(), is: ["note 7 0/0 of 10/1000 at host:7", "tell interrupted cut"])

    var unwalked = SenderTrial()
    unwalked.begin([Fixture.unfinished(7)], isWalked: false)
    unwalked.meet()
    unwalked.take(.broke(ConnectionID(1), Fixture.cut))
    expect(unwalked.close(), is: ["tell interrupted cut"])
  }

  @Test func `the pauses keep growing if a session delivered nothing, and begin anew if it did`() {
    var trial = SenderTrial.streaming()
    var pauses: [Double] = []
    for brought in [false, false, false, true, false] {
      expect(trial.cut(brought: brought), is: [note, "tell interrupted cut"])
      pauses.append(rounded((trial.engine.nextMoment ?? 0) - trial.now))
      _ = trial.comeBack()
    }
    expect(pauses, is: [0.1, 0.2, 0.4, 0.1, 0.2])
  }

  @Test func `a pause is shortened by up to a quarter, at random`() {
    var trial = SenderTrial.streaming()
    _ = trial.cut(spread: 1)
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.075)
  }

  @Test func `a sender that comes back reports no attempts, and gives up in time`() {
    var trial = SenderTrial.streaming(giveUpAfter: 1)
    _ = trial.cut()
    var tries = 0
    while trial.engine.phaseName.hasPrefix("waiting") {
      expect(trial.pass((trial.engine.nextMoment ?? 0) - trial.now), is: ["dial to resume 77"])
      tries += 1
      let actions = trial.fail(.unreached(Fixture.failure("far"), reason: "it is far"))
      if trial.engine.phaseName.hasPrefix("waiting") { expect(actions, is: []) }
    }
    expect(tries, is: 4)
    expect(trial.engine.phaseName.hasPrefix("finishing connectionLost: the other device cannot be reached: it is far"))
  }

  @Test func `a sender whose connections keep breaking without progress gives up in time`() {
    var trial = SenderTrial.streaming(giveUpAfter: 5)
    _ = trial.cut()
    _ = trial.comeBack()
    expect(trial.cut(), is: [note, "tell interrupted cut"])
    expect(
      trial.engine.phaseName.hasPrefix(
        "finishing connectionLost: the other device cannot be reached: it does not answer"))
  }

  @Test func `a sender that does not wait fails with the reason of the cut`() {
    var trial = SenderTrial.streaming(giveUpAfter: 0)
    expect(trial.cut(), is: [note])
    expect(
      trial.engine.phaseName, is: "finishing connectionLost: cut (Start the same command on both devices again.)")
  }

  @Test func `the sender comes back after silence, and not after the receiver's user has stopped`() {
    var trial = SenderTrial.streaming()
    expect(
      trial.cut(Failure(told: Close(.silent, "silence"))),
      is: [
        note, "tell interrupted the other device stopped: \"silence\"",
      ])
    var interrupted = SenderTrial.streaming()
    expect(interrupted.cut(Failure(told: Close(.interrupted, "away"))), is: [note])
    expect(
      interrupted.engine.phaseName,
      is: "finishing connectionLost: the other device stopped: it was interrupted there "
        + "(Start the same command on both devices again.)")
    var broken = SenderTrial.streaming()
    expect(broken.cut(Failure(.violation, "nonsense")), is: [note])
    expect(broken.engine.phaseName, is: "finishing failed: nonsense")
  }

  @Test func `streams that keep breaking end the session like a cut`() {
    var trial = SenderTrial.streaming { $0.streams = 1 }
    trial.join(0)
    var last: [String] = []
    for stream in 0...16 as ClosedRange<UInt32> {
      last = trial.end(stream, .lost(hasBrought: false))
      trial.pass(2)
    }
    let until = rounded(trial.now)
    expect(last, is: ["say 1 close 16", "stop 1", "close 1 until \(until)"])
    trial.take(.exported(SessionNumber(1), .failure(Fixture.cut)))
    expect(trial.close(), is: ["read window 1"])
    trial.take(.window(SessionNumber(1), Fixture.counts))
    expect(trial.engine.phaseName.hasPrefix("waiting"))
  }

  @Test func `a later session continues the transfer, reports the held data, and does not pair`() {
    var trial = SenderTrial.streaming()
    _ = trial.cut()
    trial.take(.noted(77))
    trial.pass(1)
    expect(trial.meet(), is: ["converse 2", "say 2 greeting here"])
    let offer = "offer 10/1000 allocated 4096 flags 0"
    expect(trial.hear(.greeting(Fixture.greeting())), is: ["tell \(offer)", "say 2 plan 77 of 1"])
    expect(trial.hear(.verdict(Fixture.verdict)), is: ["record plan 2 77 of 1 for there at host:7"])
    expect(trial.take(.planRecorded(SessionNumber(2), 77, nil)), is: ["say 2 \(offer)"])
    expect(trial.hear(.accept(Fixture.accept)), is: ["begin ledger 2"])
    expect(
      trial.hear(.heldEnd(HeldEnd(held: Tally(items: 0, bytes: 30)))),
      is: [
        "tell resumed 30", "export 2 77, no app, compressible", "open 2.0",
      ])
    trial.export()
    trial.hear(.done(Fixture.done))
    trial.take(.recorded(77, Fixture.traffic, isWritten: true))
    trial.end(0, .finished)
    // The amount that the receiver held when the last session began.
    expect(
      trial.close().first,
      is: "tell done 9/900 sent 800 saved 70 held 30 in 1.5 unsent 2 losses 1 left out 3 not stored 1 left behind 1")
  }

  @Test func `a transfer that only the receiver has given up is forgotten here, and begins anew`() {
    var trial = SenderTrial.streaming()
    let last = trial.cut(Failure(told: Close(.unknownTransfer)))
    expect(last.suffix(2).map { $0.prefix(11) }, is: ["tell notice", "dial to res"], "\(last)")
    expect(trial.take(.noted(77)), is: ["forget 77"])
    trial.meet()
    expect(trial.hear(.greeting(Fixture.greeting())).last, is: "say 2 plan new of 1")
  }

  @Test func `records of a transfer are written in order, one after the other`() {
    var trial = SenderTrial.streaming { $0.streams = 1 }
    _ = trial.cut()
    expect(trial.engine.runningWorkers, is: 1)
    trial.pass(1)
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    // The record of the plan waits for that of the previous session.
    expect(trial.hear(.verdict(Fixture.verdict)), is: [])
    expect(trial.engine.runningWorkers, is: 1)
    expect(trial.take(.noted(77)), is: ["record plan 2 77 of 1 for there at host:7"])
    expect(trial.engine.runningWorkers, is: 1)
    expect(
      trial.take(.planRecorded(SessionNumber(2), 77, nil)), is: ["say 2 offer 10/1000 allocated 4096 flags 0"])
  }

  @Test func `records that are held back when the run ends are not written`() {
    var trial = SenderTrial.streaming { $0.streams = 1 }
    _ = trial.cut()
    trial.pass(1)
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    trial.hear(.verdict(Fixture.verdict))
    trial.take(.broke(ConnectionID(2), Fixture.cut))
    expect(trial.close(), is: [])
    trial.take(.stop(.terminated))
    expect(trial.pass(1), is: ["finish terminated: interrupted"])
    expect(trial.engine.runningWorkers, is: 1)
    expect(trial.take(.noted(77)), is: [])
    expect(trial.engine.runningWorkers, is: 0)
  }

  @Test func `a receiver whose DONE cannot be recorded gets no RECEIPT`() {
    var trial = SenderTrial.inState("recording")
    expect(
      trial.take(.recorded(77, Fixture.traffic, isWritten: false)), is: ["stop 1", "close 1 until 102.0"])
    trial.end(0, .finished)
    expect(trial.close().last, is: "forget 77")
    expect(trial.take(.forgot(77)).first?.hasPrefix("finish done 9/900"), is: true)
  }

  @Test func `the receiver never held more than it has in the end`() {
    var trial = SenderTrial()
    trial.beginPairing()
    trial.meet()
    _ = trial.stream(held: Tally(items: 0, bytes: 5000))
    trial.export()
    trial.hear(.done(Fixture.done))
    trial.take(.recorded(77, Fixture.traffic, isWritten: true))
    trial.end(0, .finished)
    expect(trial.close().first?.contains("held 900 "), is: true)
  }
}
