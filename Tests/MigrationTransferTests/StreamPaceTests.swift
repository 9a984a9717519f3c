import Expectations
import TestSupport
import Testing

@testable import MigrationTransfer

/// A stream that sends as much as it may, to an end that takes so many bytes a second behind a way
/// of so many seconds.
private struct Way {
  static let frame = 256 << 10

  let rate: Double
  let seconds: Double
  /// The bytes of a frame on the link.
  var weight = frame
  private(set) var pace = StreamPace()
  private(set) var written = 0
  /// When the frames under way are written.
  private var due: [Double] = []
  private var isBusyUntil = 0.0

  init(rate: Double, seconds: Double) {
    self.rate = rate
    self.seconds = seconds
  }

  mutating func run(from start: Double = 0, until end: Double) {
    var now = start
    while now < end {
      let count = due.prefix { $0 <= now }.count
      if count > 0 {
        due.removeFirst(count)
        written += count
        pace.wrote(count, now: now)
      }
      while pace.next(now: now) == nil {
        isBusyUntil = max(isBusyUntil, now) + Double(Self.frame) / rate
        due.append(isBusyUntil + seconds)
        pace.sends(weight, now: now)
      }
      now += 0.001
    }
  }
}

@Suite struct StreamPaceTests {
  @Test func `before anything is known a stream takes little`() {
    var pace = StreamPace()
    var sent = 0
    while pace.next(now: 0) == nil {
      pace.sends(Way.frame, now: 0)
      sent += Way.frame
    }
    expect(sent, is: StreamPace.least)
  }

  @Test func `an end that is slow gets what it writes within half a second`() {
    var way = Way(rate: 10e6, seconds: 0)
    way.run(until: 5)
    expect((4_000_000...6_500_000).contains(way.pace.underWay))
    // It never had to wait.
    expect(way.written * Way.frame > 48_000_000)
  }

  @Test func `an end that takes longest of all gets little`() {
    var way = Way(rate: 1e6, seconds: 0)
    way.run(until: 60)
    expect(way.pace.underWay <= 3 * Way.frame)
  }

  @Test(arguments: [0.05, 0.3, 1.5])
  func `a long way is filled soon`(seconds: Double) {
    var way = Way(rate: 50e6, seconds: seconds)
    way.run(until: 12 * max(seconds, 0.1))
    let before = way.written
    way.run(from: 12 * max(seconds, 0.1), until: 12 * max(seconds, 0.1) + 4)
    expect(Double((way.written - before) * Way.frame) > 0.95 * 4 * 50e6)
  }

  /// Sends to a receiver that acknowledges after so many frames. Returns the seconds that 100
  /// frames take.
  private func seconds(telling batch: Int) -> Double {
    var pace = StreamPace()
    var (now, came, sent) = (0.0, 0, 0)
    while sent < 100 {
      if let next = pace.next(now: now) {
        now = next
      } else {
        pace.sends(Way.frame, now: now)
        (came, sent, now) = (came + 1, sent + 1, now + 0.001)
      }
      if came == batch {
        pace.wrote(came, now: now)
        came = 0
      }
    }
    return now
  }

  @Test(arguments: [1, 2, 4, 16])
  func `a receiver that tells of many frames at once is not held up for long`(batch: Int) {
    expect(seconds(telling: batch) < 0.1 + Double(batch) / 2 * StreamPace.soon)
  }

  @Test func `compressed frames weigh less`() {
    var way = Way(rate: 10e6, seconds: 0)
    way.weight = Way.frame / 4
    way.run(until: 0.001)
    expect(way.pace.underWay, is: StreamPace.least)
  }

  // MARK: Beside other streams

  @Test func `a slow stream leaves the last frames to a fast one`() {
    var (slow, fast) = (Way(rate: 200e3, seconds: 0.1), Way(rate: 1e6, seconds: 0.1))
    slow.run(until: 20)
    fast.run(until: 20)
    let isLate = { (pace: StreamPace, other: StreamPace, unsent: Int) in
      pace.isLate(behind: [other], unsent: unsent, frame: Way.frame, now: 20)
    }
    expect(isLate(slow.pace, fast.pace, 3_000_000) && !isLate(slow.pace, fast.pace, 30_000_000))
    expect(!isLate(fast.pace, slow.pace, 1))
  }

  @Test(arguments: 1...200)
  func `of several streams one may always send`(seed: UInt64) {
    var random = Seeded(seed)
    let ways = (0..<Int.random(in: 2...6, using: &random)).map { _ in
      var way = Way(rate: .random(in: 20e3...2e6, using: &random), seconds: .random(in: 0...0.3, using: &random))
      way.run(until: .random(in: 1...20, using: &random))
      return way.pace
    }
    for unsent in [1, Way.frame, 10 * Way.frame] {
      let mayNot = ways.indices.filter { index in
        let others = ways.indices.filter { $0 != index }.map { ways[$0] }
        return ways[index].isLate(behind: others, unsent: unsent, frame: Way.frame, now: 20)
      }
      expect(mayNot.count < ways.count)
    }
  }

  @Test func `a new stream beside others brings one frame first`() {
    var old = Way(rate: 1e6, seconds: 0.1)
    old.run(until: 5)
    var new = StreamPace()
    let isLate = { (pace: StreamPace, now: Double) in
      pace.isLate(behind: [old.pace], unsent: 100 * Way.frame, frame: Way.frame, now: now)
    }
    expect(!isLate(new, 5))
    new.sends(Way.frame, now: 5)
    expect(isLate(new, 5.1) && !isLate(new, 16), "it may be acknowledged only with others")
    new.wrote(1, now: 5.2)
    expect(!isLate(new, 5.2))
  }

  @Test func `a pause does not count`() {
    var way = Way(rate: 50e6, seconds: 0.01)
    way.run(until: 2)
    var pace = way.pace
    // Everything is written, and nothing is sent for a minute.
    pace.wrote(pace.underWay / Way.frame, now: 2.1)
    expect(pace.underWay, is: 0)
    for _ in 0..<8 { pace.sends(Way.frame, now: 62) }
    pace.wrote(8, now: 62.2)
    expect(pace.next(now: 62.2) == nil)
    for _ in 0..<16 { pace.sends(Way.frame, now: 62.2) }
    expect(pace.next(now: 62.2) == nil)
  }
}
