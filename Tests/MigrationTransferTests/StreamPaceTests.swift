import Expectations
import Testing

@testable import MigrationTransfer

/// A stream that sends as much as it may, to an end that takes so many bytes a second behind a way
/// of so many seconds.
private struct Way {
  let rate: Double
  let seconds: Double
  /// How much a frame is compressed on the link.
  var share = 1
  private(set) var pace = StreamPace()
  /// The bytes that are written.
  private(set) var written = 0
  /// When the frames under way are written, and their bytes.
  private var due: [(at: Double, bytes: Int)] = []
  private var isBusyUntil = 0.0

  init(rate: Double, seconds: Double) {
    self.rate = rate
    self.seconds = seconds
  }

  mutating func run(from start: Double = 0, until end: Double) {
    var now = start
    while now < end {
      let done = due.prefix { $0.at <= now }
      if !done.isEmpty {
        due.removeFirst(done.count)
        written += done.reduce(0) { $0 + $1.bytes }
        pace.wrote(done.count, now: now)
      }
      while pace.next(now: now, waiting: 1) == nil {
        isBusyUntil = max(isBusyUntil, now) + Double(pace.frame) / rate
        due.append((isBusyUntil + seconds, pace.frame))
        pace.sends(pace.frame / share, now: now)
      }
      now += 0.001
    }
  }
}

@Suite struct StreamPaceTests {
  @Test func `before anything is known a stream takes little`() {
    var pace = StreamPace()
    while pace.next(now: 0) == nil { pace.sends(pace.frame, now: 0) }
    expect((2 * StreamPace.first..<3 * StreamPace.first).contains(pace.underWay))
  }

  @Test func `a slow stream has little under way, and small frames, however long nothing is heard`() {
    var pace = StreamPace()
    var (due, now): ([Double], Double) = ([], 0)
    while now < 60 {
      if let first = due.first, first <= now {
        due.removeFirst()
        pace.wrote(1, now: now)
      }
      while pace.next(now: now, waiting: 1) == nil {
        due.append(max(now, due.last ?? 0) + Double(pace.frame) / 40_000)
        pace.sends(pace.frame, now: now)
      }
      now += 0.01
    }
    expect(pace.frame == 32 << 10 && pace.underWay <= 64 << 10)
  }

  @Test func `an end that is slow gets what it writes within half a second`() {
    var way = Way(rate: 10e6, seconds: 0)
    way.run(until: 5)
    expect((4_000_000...6_500_000).contains(way.pace.underWay))
    // It never had to wait.
    expect(way.written > 48_000_000)
  }

  @Test func `an end that takes longest of all gets little`() {
    var way = Way(rate: 1e6, seconds: 0)
    way.run(until: 60)
    expect(way.pace.underWay <= 3 * 256 << 10)
  }

  @Test(arguments: [0.05, 0.3, 1.5])
  func `a long way is filled soon`(seconds: Double) {
    var way = Way(rate: 50e6, seconds: seconds)
    way.run(until: 12 * max(seconds, 0.1))
    let before = way.written
    way.run(from: 12 * max(seconds, 0.1), until: 12 * max(seconds, 0.1) + 4)
    expect(Double(way.written - before) > 0.95 * 4 * 50e6)
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
        pace.sends(pace.frame, now: now)
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
    way.share = 4
    way.run(until: 0.001)
    var pace = way.pace
    expect((2 * StreamPace.first..<3 * StreamPace.first).contains(pace.underWay) && pace.next(now: 0.001) != nil)
  }

  @Test func `a pause does not count`() {
    var way = Way(rate: 50e6, seconds: 0.01)
    way.run(until: 2)
    var pace = way.pace
    // Everything is written, and nothing is sent for a minute.
    let full = 256 << 10
    pace.wrote(pace.underWay / full, now: 2.1)
    expect(pace.underWay == 0 && pace.frame == full)
    for _ in 0..<8 { pace.sends(full, now: 62) }
    pace.wrote(8, now: 62.2)
    expect(pace.next(now: 62.2) == nil)
    for _ in 0..<16 { pace.sends(full, now: 62.2) }
    expect(pace.next(now: 62.2) == nil)
  }
}
