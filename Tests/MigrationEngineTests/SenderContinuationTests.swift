import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A session's knowledge of earlier sessions.
@Suite struct SenderContinuationTests {
  @Test func `an offer after FINISH is answered only by DONE with the same totals`() {
    var trial = SenderTrial.inState("finishing")
    trial.loseAndMeetAgain()
    var other = trial
    expect(trial.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 0"])
    expect(
      other.hear(.done(Done(total: Tally(items: 1)))).first,
      is: "say 2 close 3 the other device broke the protocol: the receiver's last word contradicts an earlier statement"
    )
  }

  @Test func `DONE may answer an offer before this run's FINISH only for a transfer of an earlier run`() {
    var trial = SenderTrial.streaming()
    _ = trial.cut()
    trial.pass(1)
    trial.meet()
    trial.plan()
    expect(trial.hear(.done(Fixture.done)).first?.contains("the receiver's last word came at the wrong time"), is: true)

    var earlier = SenderTrial()
    earlier.begin([Fixture.unfinished(7, unsent: 6)])
    earlier.meet()
    earlier.plan(Fixture.verdict(of: 7))
    expect(earlier.hear(.done(Fixture.done)), is: ["record 7 9/900 refusals 0"])
    earlier.take(.recorded(7, Traffic(), isWritten: true))
    expect(
      earlier.close(),
      is: [
        "tell done 9/900 sent 0 saved 0 held 900 in 0.0 unsent 6 losses 1 left out 0 not stored 1 left behind 0 "
          + "concluded 1200",
        "forget 7",
      ])
  }

  @Test func `the next session opens the best number of streams so far`() {
    var trial = SenderTrial.streaming(Fixture.verdict(streams: 2))
    let waiting = Fixture.counts { $0.waitingFrames = 8 }
    trial.join(0)
    expect(trial.take(.window(trial.session, waiting)), is: ["open 1.1"])
    // The second stream is refused until it is given up.
    for stream in 1..<5 as Range<UInt32> {
      trial.end(stream, .lost(hasBrought: false))
      if trial.pass(2).contains("read window 1") { trial.take(.window(trial.session, waiting)) }
    }
    _ = trial.cut()
    expect(trial.comeBack().contains("open 2.0"))
    // One stream is enough: no read of the window is needed for another.
    expect(trial.join(0), is: [])
  }

  @Test func `a fixed number of streams is opened in each session`() {
    var trial = SenderTrial.streaming { $0.streams = 2 }
    _ = trial.cut()
    expect(trial.comeBack().suffix(2), is: ["open 2.0", "open 2.1"])
  }
}
