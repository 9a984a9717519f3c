import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The streams of a session, and the events that a test lets happen.
struct StreamPlanTrial {
  private(set) var plan: StreamPlan
  private(set) var now = 100.0
  /// The streams that were started and have not ended.
  private(set) var started: [StreamPlan.StreamNumber] = []

  init(fixed: UInt32? = nil, count: Int = 2, limit: UInt16 = 16) {
    plan = StreamPlan(SessionNumber(1), Fixture.verdict(streams: limit), fixed: fixed, count: count, now: now)
  }

  mutating func open() -> [String] {
    did { plan, now, actions in plan.open(now, &actions) }
  }

  @discardableResult
  mutating func join(
    _ number: StreamPlan.StreamNumber, by address: InternetAddress? = nil, after seconds: Double = 0
  ) -> [String] {
    now += seconds
    return did { plan, now, actions in plan.joined(number, by: address, now, &actions) }
  }

  /// The actions; nil where the session ends.
  @discardableResult
  mutating func end(
    _ number: StreamPlan.StreamNumber, _ end: SenderEngine.StreamEnd,
    fails fault: Failure = Failure(.connection, "the data connections keep breaking")
  ) -> [String]? {
    started.removeAll { $0 == number }
    var actions: [SenderEngine.Action] = []
    do throws(Failure) {
      try plan.ended(number, end, now, &actions)
    } catch {
      expect(error, is: fault)
      return nil
    }
    return did { _, _, all in all = actions }
  }

  mutating func look(waiting: Int, _ change: (inout SenderEngine.WindowCounts) -> Void = { _ in }) -> [String] {
    did { plan, now, actions in
      var counts = SenderEngine.WindowCounts()
      counts.waitingFrames = waiting
      change(&counts)
      plan.looked(counts, now, &actions)
    }
  }

  mutating func tell(_ addresses: Addresses) { plan.told(addresses) }

  mutating func tryAddresses() -> [String] {
    var budget = AddressBudget()
    return did { plan, now, actions in plan.tryAddresses(within: &budget, now, &actions) }
  }

  mutating func finish() -> [String] { did { plan, _, actions in plan.finish(&actions) } }

  mutating func pass(_ seconds: Double) -> [String] {
    now += seconds
    return did { plan, now, actions in plan.moveOn(isSending: true, now, &actions) }
  }

  /// In how many seconds something is due.
  var next: Double? { plan.nextMoment(isSending: true).map { rounded($0 - now) } }

  private mutating func did(
    _ body: (inout StreamPlan, Double, inout [SenderEngine.Action]) -> Void
  ) -> [String] {
    var actions: [SenderEngine.Action] = []
    body(&plan, now, &actions)
    for case .openStream(_, let join, _, _) in actions { started.append(join.stream) }
    expect(plan.brokenInvariant(started) == nil)
    return actions.map(\.text)
  }
}

@Suite struct SenderStreamPlanTests {
  @Test func `a join and a due read of the window are one read`() {
    var trial = StreamPlanTrial(count: 4)
    _ = trial.open()
    expect(trial.join(0, after: 1), is: ["read window 1"])
    expect(trial.pass(0), is: [])
    expect(trial.pass(0.1), is: ["read window 1"])
  }

  @Test func `the first stream opens at once, and others when more frames wait than starting streams carry`() {
    var trial = StreamPlanTrial(count: 4)
    expect(trial.open(), is: ["open 1.0"])
    expect(trial.look(waiting: 2), is: [])
    expect(trial.look(waiting: 3), is: ["open 1.1"])
    // Two are joining.
    expect(trial.look(waiting: 8), is: [])
    expect(trial.join(0), is: ["read window 1"])
    expect(trial.look(waiting: 2), is: [])
    expect(trial.look(waiting: 3), is: ["open 1.2"])
    trial.join(1)
    trial.join(2)
    expect(trial.look(waiting: 1), is: [])
    expect(trial.look(waiting: 2), is: ["open 1.3"])
    // All wanted streams are there: no read is needed.
    expect(trial.join(3), is: [])
    expect(trial.look(waiting: 8), is: [])
  }

  @Test(arguments: [nil, 16, 15])
  func `no streams are added for the last frames`(unsent: Int?) {
    var trial = StreamPlanTrial(count: 2)
    _ = trial.open()
    _ = trial.look(waiting: 8)
    trial.join(0)
    trial.join(1)
    var actions: [String] = []
    for look in 1...20 as ClosedRange<UInt64> {
      _ = trial.pass(0.1)
      actions += trial.look(waiting: 8) { counts in
        (counts.writtenFrames, counts.writtenLength) = (4 * look, look << 20)
        counts.framesOfStream = [0: 2 * look, 1: 2 * look]
        counts.unsentFrames = unsent
      }
    }
    expect(actions.isEmpty == (unsent == 15))
  }

  @Test func `several missing streams open together, two at a time`() {
    var trial = StreamPlanTrial(count: 4)
    expect(trial.open(), is: ["open 1.0"])
    trial.join(0)
    expect(trial.look(waiting: 8), is: ["open 1.1", "open 1.2"])
    expect(trial.join(2), is: ["read window 1"])
    expect(trial.look(waiting: 8), is: ["open 1.3"])
  }

  @Test func `a fixed number of streams opens without a read of the window, two at a time`() {
    var trial = StreamPlanTrial(fixed: 4)
    expect(trial.open(), is: ["open 1.0", "open 1.1"])
    expect(trial.next == nil)
    expect(trial.join(1), is: ["open 1.2"])
    expect(trial.join(0), is: ["open 1.3"])
    expect(trial.join(2), is: [])
    expect(trial.join(3), is: [])
    expect(trial.pass(5), is: [])
    expect(trial.plan.found == nil)
    expect(trial.look(waiting: 8), is: [])
  }

  @Test(arguments: [(fixed: 64, limit: 3, count: 3), (fixed: 2, limit: 3, count: 2), (fixed: 0, limit: 3, count: 1)])
  func `at most as many streams open as the receiver accepts, and at least one`(
    _ fixed: Int, _ limit: Int, _ count: Int
  ) {
    var trial = StreamPlanTrial(fixed: UInt32(fixed), limit: UInt16(limit))
    _ = trial.open()
    for number in 0..<16 where trial.started.contains(UInt32(number)) { trial.join(UInt32(number)) }
    expect(trial.started.count, is: count)
  }

  @Test func `a receiver that accepts one stream gets one, regardless of the best number before`() {
    var trial = StreamPlanTrial(count: 8, limit: 1)
    expect(trial.open(), is: ["open 1.0"])
    expect(trial.join(0), is: [])
    expect(trial.look(waiting: 8), is: [])
    expect(trial.plan.found, is: 1)
  }

  @Test func `the window is read twenty times a second`() {
    var trial = StreamPlanTrial()
    _ = trial.open()
    expect(trial.next, is: 0.05)
    expect(trial.pass(0.049), is: [])
    expect(trial.pass(0.001), is: ["read window 1"])
    expect(trial.next, is: 0.05)
    expect(trial.pass(1), is: ["read window 1"])
    expect(trial.next, is: 0.05)
  }

  @Test func `events of unknown streams are ignored`() {
    var trial = StreamPlanTrial()
    _ = trial.open()
    expect(trial.join(7), is: [])
    expect(trial.end(7, .finished), is: [])
  }

  @Test func `after everything is written, no stream is opened or replaced`() {
    var trial = StreamPlanTrial(fixed: 4)
    _ = trial.open()
    trial.join(0)
    trial.join(1)
    expect(trial.started, is: [0, 1, 2, 3])
    trial.end(0, .lost(hasBrought: false))
    trial.end(0, .lost(hasBrought: false))
    expect(trial.finish(), is: ["forget stream 1.4"])
    expect(trial.join(2), is: [])
    expect(trial.end(1, .lost(hasBrought: true)), is: ["forget stream 1.1"])
    expect(trial.end(2, .finished), is: ["forget stream 1.2"])
    expect(trial.end(3, .stopped), is: ["forget stream 1.3"])
  }

  @Test func `after everything is written, missing streams are not opened, and a late read has no effect`() {
    var trial = StreamPlanTrial(count: 4)
    _ = trial.open()
    expect(trial.finish(), is: [])
    expect(trial.join(0), is: [])
    expect(trial.look(waiting: 8), is: [])
  }
}
