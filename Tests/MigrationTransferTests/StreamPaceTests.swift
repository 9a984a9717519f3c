import Expectations
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
