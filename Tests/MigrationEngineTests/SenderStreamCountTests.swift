import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A path on which each stream carries so many frames a second, and all together no more than a
/// bottleneck allows.
private struct Path {
  var trial: StreamPlanTrial
  let perStream: Double
  var atMost = Double.infinity
  var isLimited = false
  var waiting = 8
  /// The streams that carry nothing.
  var idle: Set<StreamPlan.StreamNumber> = []
  /// The changes, with their times.
  private(set) var log: [String] = []
  private(set) var times: [Double] = []
  private var frames: [StreamPlan.StreamNumber: Double] = [:]
  private var all = 0.0

  init(perStream: Double, limit: UInt16 = 16) {
    self.perStream = perStream
    trial = StreamPlanTrial(limit: limit)
    note(trial.open())
  }

  mutating func run(_ seconds: Double) {
    for _ in 0..<Int(seconds * 10) {
      let busy = trial.started.filter { !idle.contains($0) }
      let each = min(perStream, atMost / Double(busy.count)) / 10
      for number in busy {
        frames[number, default: 0] += each
        all += each
      }
      guard trial.pass(0.1).contains("read window 1") else { continue }
      look()
    }
  }

  private mutating func look() {
    let (frames, all, isLimited) = (frames, all, isLimited)
    note(
      trial.look(waiting: waiting) { counts in
        counts.framesOfStream = frames.mapValues { UInt64($0) }
        counts.writtenFrames = UInt64(all)
        counts.writtenLength = UInt64(all * 1e6)
        counts.isLimited = isLimited
      })
  }

  private mutating func note(_ actions: [String]) {
    log += actions
    times += actions.map { _ in rounded(trial.now - 100) }
    // Opened streams join at once.
    for number in trial.started where !trial.plan.hasJoined(number) {
      if trial.join(number).contains("read window 1") { look() }
    }
  }
}

/// The number of streams: the decisions of the count are carried out, and it learns all it needs.
@Suite struct SenderStreamCountTests {
  @Test func `if each stream adds throughput, the streams reach the receiver's limit`() {
    var path = Path(perStream: 100)
    path.run(20)
    expect(path.log, is: (0..<16).map { "open 1.\($0)" })
    // At once when it is decided, and two at a time.
    expect(path.times.prefix(4), is: [0, 0, 0.3, 0.3])
    expect(path.trial.plan.found, is: 16)
  }

  @Test func `if more streams add no throughput, the newest are retired again`() {
    var path = Path(perStream: 100)
    path.atMost = 200
    path.run(2)
    expect(path.log, is: ["open 1.0", "open 1.1", "open 1.2", "open 1.3", "retire 1.2", "retire 1.3"])
    expect(path.trial.plan.found, is: 2)
    // A retired stream that breaks has a replacement for its unacknowledged frames, and the replacement does not
    // count.
    expect(path.trial.end(3, .lost(hasBrought: true)), is: ["move 1.3 to 4", "open 1.4 for 3 attempts 1"])
    path.trial.join(4)
    expect(path.trial.end(4, .finished), is: ["forget stream 1.4"])
    expect(path.trial.end(2, .finished), is: ["forget stream 1.2"])
    expect(path.trial.started, is: [0, 1])
  }

  @Test func `a retired stream occupies its place until it has ended`() {
    var path = Path(perStream: 100, limit: 3)
    path.atMost = 200
    path.run(2)
    expect(path.log, is: ["open 1.0", "open 1.1", "open 1.2", "retire 1.2"])
    path.run(10)
    expect(path.log.count, is: 4)
    path.trial.end(2, .finished)
    path.run(0.1)
    expect(path.log.last, is: "open 1.3")
  }

  @Test func `a retired stream does not count in measurements`() {
    var path = Path(perStream: 100)
    path.idle = [2, 3]
    path.run(9)
    expect(path.log.prefix(6).suffix(2), is: ["retire 1.2", "retire 1.3"])
    // The next two are soon up to speed, although those before delivered nothing.
    expect(path.log.prefix(8).suffix(2), is: ["open 1.4", "open 1.5"])
    expect(path.times.prefix(9).suffix(3), is: [5.9, 5.9, 6.2])
  }

  @Test func `no more streams open if the user's limit holds streams back`() {
    var path = Path(perStream: 100)
    path.isLimited = true
    path.run(10)
    expect(path.log, is: ["open 1.0", "open 1.1"])
  }

  @Test func `no more streams open if no frames wait`() {
    var path = Path(perStream: 100)
    path.run(0.1)
    path.waiting = 0
    path.run(10)
    expect(path.log, is: ["open 1.0", "open 1.1"])
  }

  @Test func `a stream that delivers nothing yet is waited for`() {
    var path = Path(perStream: 100)
    path.idle = [1]
    path.run(1.5)
    expect(path.log, is: ["open 1.0", "open 1.1"])
    path.run(2)
    expect(path.log.count, is: 4)
  }

  @Test func `nothing is measured while a stream is replaced`() {
    var path = Path(perStream: 100)
    path.run(0.2)
    // Every replacement is lost while it joins: there is always one that is starting.
    var number: StreamPlan.StreamNumber = 1
    for _ in 0..<8 {
      path.trial.end(number, .lost(hasBrought: true))
      number = path.trial.started.max() ?? number
      expect(path.trial.pass(0.1), is: ["read window 1"])
      expect(
        path.trial.look(waiting: 8) { counts in
          counts.writtenFrames = 1000
          counts.writtenLength = 1_000_000_000
          counts.framesOfStream = [0: 500, number: 500]
        }, is: [])
      path.trial.join(number)
    }
  }
}
