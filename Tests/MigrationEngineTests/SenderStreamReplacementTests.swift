import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Streams that break: which replacement replaces them, when, and for how long.
@Suite struct SenderStreamReplacementTests {
  @Test func `the replacement of a joined stream replaces it`() {
    var trial = StreamPlanTrial(fixed: 1)
    expect(trial.open(), is: ["open 1.0"])
    trial.join(0)
    expect(trial.end(0, .lost(hasBrought: true)), is: ["move 1.0 to 1", "open 1.1 for 0 attempts 1"])
    trial.join(1)
    expect(trial.end(1, .stopped), is: ["move 1.1 to 2"])
    expect(trial.pass(0.04), is: ["open 1.2 for 1 attempts 2"])
  }

  @Test func `a replacement that never joined passes on its predecessor and its unacknowledged frames`() {
    var trial = StreamPlanTrial(fixed: 1)
    _ = trial.open()
    trial.join(0)
    trial.end(0, .lost(hasBrought: false))
    expect(trial.end(1, .lost(hasBrought: false)), is: ["move 1.1 to 2"])
    expect(trial.next, is: 0.04)
    expect(trial.pass(0.039), is: [])
    expect(trial.pass(0.001), is: ["open 1.2 for 0 attempts 2"])
    expect(trial.end(2, .lost(hasBrought: false)), is: ["move 1.2 to 3"])
    expect(trial.next, is: 0.08)
    expect(trial.pass(0.08), is: ["open 1.3 for 0 attempts 3"])
    trial.join(3)
    // It has joined: the next one replaces it.
    expect(trial.end(3, .lost(hasBrought: false)), is: ["move 1.3 to 4"])
    expect(trial.pass(0.16), is: ["open 1.4 for 3 attempts 4"])
  }

  @Test func `a stream that never joined has a replacement that replaces none`() {
    var trial = StreamPlanTrial(fixed: 1)
    _ = trial.open()
    expect(trial.end(0, .lost(hasBrought: false)), is: ["move 1.0 to 1", "open 1.1 attempts 1"])
  }

  @Test func `a stream that has delivered frames starts its count of losses anew`() {
    var trial = StreamPlanTrial(fixed: 1)
    _ = trial.open()
    trial.join(0)
    for number in 0..<3 as Range<UInt32> {
      trial.end(number, .lost(hasBrought: false))
      _ = trial.pass(2)
    }
    trial.join(3)
    expect(trial.end(3, .lost(hasBrought: true)), is: ["move 1.3 to 4", "open 1.4 for 3 attempts 1"])
  }

  @Test func `sixteen losses in a row are tolerated, with growing pauses, and not one more`() {
    var trial = StreamPlanTrial(fixed: 1)
    _ = trial.open()
    trial.join(0)
    var pauses: [Double?] = []
    for number in 0..<16 as Range<UInt32> {
      expect(trial.end(number, .lost(hasBrought: false)) != nil)
      pauses.append(trial.next)
      _ = trial.pass(2)
    }
    expect(pauses, is: [nil, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28] + Array(repeating: 2, count: 9))
    expect(trial.end(16, .lost(hasBrought: false)) == nil)
  }

  @Test
  func `a refused stream has replacements, and the seventeenth refusal in a row ends the session with the reason`() {
    let fault = Failure(.unknownTransfer, "unknown")
    var trial = StreamPlanTrial(fixed: 1)
    _ = trial.open()
    for number in 0..<16 as Range<UInt32> {
      expect(trial.end(number, .turnedAway(fault)) != nil)
      _ = trial.pass(2)
    }
    expect(trial.end(16, .turnedAway(fault), fails: fault) == nil)
  }

  @Test func `a stream that the receiver turns away is not given up, however well others work`() {
    let fault = AbortReason.unknownPeer.failure
    var trial = StreamPlanTrial(fixed: 2)
    _ = trial.open()
    trial.join(0)
    for number in 1..<8 as Range<UInt32> {
      expect(trial.end(number, .turnedAway(fault))?.first, is: "move 1.\(number) to \(number + 1)")
      _ = trial.pass(2)
    }
    expect(trial.started, is: [0, 8])
  }

  @Test func `of two streams one that is refused four times is given up, and the other stays`() {
    var trial = StreamPlanTrial(fixed: 2)
    _ = trial.open()
    trial.join(0)
    for number in 1..<4 as Range<UInt32> {
      expect(trial.end(number, .lost(hasBrought: false))?.first, is: "move 1.\(number) to \(number + 1)")
      _ = trial.pass(2)
    }
    expect(trial.end(4, .lost(hasBrought: false)), is: ["forget stream 1.4"])
    expect(trial.started, is: [0])
    expect(trial.pass(10), is: [])
  }

  @Test func `neither the last stream nor one with frames to send again is given up`() {
    var trial = StreamPlanTrial(fixed: 1)
    _ = trial.open()
    for number in 0..<6 as Range<UInt32> {
      expect(trial.end(number, .lost(hasBrought: false))?.first, is: "move 1.\(number) to \(number + 1)")
      _ = trial.pass(2)
    }
    var replacement = StreamPlanTrial(fixed: 2)
    _ = replacement.open()
    replacement.join(0)
    replacement.join(1)
    for number in 1..<7 as Range<UInt32> {
      expect(replacement.end(number, .lost(hasBrought: false))?.first?.hasPrefix("move"), is: true)
      _ = replacement.pass(2)
    }
  }

  @Test func `a stream that is given up makes room for a queued one`() {
    var trial = StreamPlanTrial(fixed: 3)
    _ = trial.open()
    trial.join(0)
    for number in [1, 3, 4] as [UInt32] {
      trial.end(number, .lost(hasBrought: false))
      _ = trial.pass(1)
    }
    // 2 and 5 are joining, 5 for the last time.
    expect(trial.end(0, .lost(hasBrought: true)), is: ["move 1.0 to 6"])
    expect(trial.end(5, .lost(hasBrought: false)), is: ["forget stream 1.5", "open 1.6 for 0 attempts 1"])
  }

  @Test func `a stream that was refused and has joined is not given up, because it may carry frames`() {
    var trial = StreamPlanTrial(fixed: 2)
    _ = trial.open()
    trial.join(0)
    for number in 1..<4 as Range<UInt32> {
      trial.end(number, .lost(hasBrought: false))
      _ = trial.pass(2)
    }
    trial.join(4)
    expect(trial.end(4, .lost(hasBrought: false)), is: ["move 1.4 to 5"])
    expect(trial.pass(2), is: ["open 1.5 for 4 attempts 4"])
  }

  @Test func `the count learns which streams cannot be opened`() {
    var trial = StreamPlanTrial(count: 2)
    _ = trial.open()
    trial.join(0)
    _ = trial.look(waiting: 8)
    for number in 1..<5 as Range<UInt32> {
      trial.end(number, .lost(hasBrought: false))
      _ = trial.pass(2)
    }
    expect(trial.started, is: [0])
    expect(trial.plan.found, is: 1)
  }

  @Test func `a third stream waits for one of two places for joining streams`() {
    var trial = StreamPlanTrial(fixed: 3)
    expect(trial.open(), is: ["open 1.0", "open 1.1"])
    trial.join(0)
    expect(trial.started, is: [0, 1, 2])
    // The replacement waits for a place, which only an event can free.
    expect(trial.end(0, .lost(hasBrought: true)), is: ["move 1.0 to 3"])
    expect(trial.next == nil)
    expect(trial.pass(1), is: [])
    expect(trial.join(2), is: ["open 1.3 for 0 attempts 1"])
  }

  @Test func `the oldest of several queued streams starts first`() {
    var trial = StreamPlanTrial(fixed: 4)
    _ = trial.open()
    trial.join(0)
    trial.join(1)
    expect(trial.started, is: [0, 1, 2, 3])
    // 2 and 3 are joining.
    expect(trial.end(1, .lost(hasBrought: true)), is: ["move 1.1 to 4"])
    expect(trial.end(0, .lost(hasBrought: true)), is: ["move 1.0 to 5"])
    expect(trial.join(2), is: ["open 1.4 for 1 attempts 1"])
    expect(trial.join(3), is: ["open 1.5 for 0 attempts 1"])
  }

  @Test func `a fault of a stream ends the session, and the stream is forgotten`() {
    var plan = StreamPlan(SessionNumber(1), Fixture.verdict, fixed: 1, count: 1, now: 0)
    var actions: [SenderEngine.Action] = []
    plan.open(0, &actions)
    #expect(throws: Fixture.cut) {
      try plan.ended(0, .failed(Fixture.cut), 0, &actions)
    }
    expect(actions.map(\.text), is: ["open 1.0", "forget stream 1.0"])
  }
}
