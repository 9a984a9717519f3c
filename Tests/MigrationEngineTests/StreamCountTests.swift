import Expectations
import Testing

@testable import MigrationEngine

/// A path on which each stream carries so much, and all together no more than a bottleneck allows.
private struct Path {
  static let frame = 1e6

  var perStream: Double
  var atMost = Double.infinity
  /// The share of looks at which frames wait for streams.
  var isWaiting = true

  private(set) var count: StreamCount
  private(set) var now = 0.0
  private var bytes = 0.0
  private var fewest = 0.0
  /// How many streams there are.
  private(set) var streams: Int
  /// The changes, with their times.
  private(set) var changes: [(time: Double, streams: Int)] = []
  /// For how many seconds there were so many streams.
  private(set) var spent: [Int: Double] = [:]

  init(perStream: Double, atMost: Double = .infinity, limit: Int = 16, count: Int = 1) {
    self.perStream = perStream
    self.atMost = atMost
    self.count = StreamCount(count: count, limit: limit, now: 0)
    streams = self.count.count
  }

  mutating func cannotOpen() {
    count.cannotOpen(now: now)
    streams -= 1
  }

  /// Lets time pass, with a look every tenth of a second.
  mutating func run(until end: Double) {
    while now < end {
      now += 0.1
      spent[streams, default: 0] += 0.1
      let rate = min(Double(streams) * perStream, atMost)
      bytes += rate * 0.1
      fewest += rate / Double(streams) * 0.1
      let step = count.look(
        StreamCount.Observation(
          time: now, bytes: UInt64(bytes), frames: UInt64(bytes / Self.frame), fewest: UInt64(fewest / Self.frame),
          isWaiting: isWaiting))
      switch step {
      case .stay: continue
      case .open(let more):
        streams += more
        fewest = 0
      case .end(let surplus): streams -= surplus
      }
      changes.append((now, streams))
    }
  }
}

/// Streams that deliver one frame after the other, all at the same moments.
private struct LongFrames {
  /// How long a frame takes.
  let each: Double
  /// The number of streams beyond which a frame takes longer, in proportion to the number.
  var shared = Int.max

  private(set) var count = StreamCount(limit: 16, now: 0)
  private(set) var changes: [Int] = []
  private var now = 0.0
  private var streams = StreamCount.first
  private var frames = 0
  private var fewest: UInt64 = 0
  private var last: Double?
  /// When the frames that streams carry now are written.
  private var next: Double

  init(each: Double, shared: Int = .max) {
    (self.each, self.shared) = (each, shared)
    next = each
  }

  mutating func run(until end: Double) {
    while now < end {
      now += 0.1
      while next <= now {
        frames += streams
        fewest += 1
        last = next
        next += each * max(1, Double(streams) / Double(shared))
      }
      let step = count.look(
        StreamCount.Observation(
          time: now, bytes: UInt64(frames) << 18, frames: UInt64(frames), written: last, fewest: fewest))
      switch step {
      case .stay: continue
      case .open(let more):
        streams += more
        fewest = 0
      case .end(let surplus): streams -= surplus
      }
      changes.append(streams)
    }
  }
}

@Suite struct StreamCountTests {
  @Test func `if every stream adds its share, the number soon reaches the limit`() {
    var path = Path(perStream: 84e6, limit: 16)
    path.run(until: 3)
    expect(path.changes.map(\.streams), is: [2, 8, 16])
    path.run(until: 3_600)
    expect(path.streams, is: 16)
    expect(path.changes.count, is: 3)
  }

  @Test func `the limit need not be a power of two`() {
    var path = Path(perStream: 84e6, limit: 11)
    path.run(until: 10)
    expect(path.streams, is: 11)
  }

  @Test func `a stream that delivers nothing is ended again`() {
    var path = Path(perStream: 84e6, atMost: 84e6)
    path.run(until: 3)
    expect(path.changes.map(\.streams), is: [2, 1])
  }

  @Test func `a step with less than its share stays, and is the last one for now`() {
    var path = Path(perStream: 100e6, atMost: 130e6)
    path.run(until: 3)
    expect(path.changes.map(\.streams), is: [2])
  }

  @Test func `after a long step as many streams stay as throughput has grown by`() {
    var path = Path(perStream: 84e6, atMost: 5 * 84e6, count: StreamCount.first)
    path.run(until: 2.5)
    expect(path.changes.map(\.streams), is: [4, 16, 8])
    expect(path.count.found, is: 8)
  }

  @Test(arguments: [84e6, 250e6, 300e6, 700e6])
  func `a user who watches for an hour sees a handful of changes`(atMost: Double) {
    var path = Path(perStream: 84e6, atMost: atMost)
    path.run(until: 3_600)
    expect(path.changes.count < 36)
    expect(path.changes.filter { $0.time > 1_800 }.count <= 8)
    expect(path.spent.values.max() ?? 0 > 3_500)
  }

  @Test func `no streams are added if frames never wait for streams`() {
    var path = Path(perStream: 84e6)
    path.isWaiting = false
    path.run(until: 600)
    expect(path.changes.isEmpty)
    path.isWaiting = true
    path.run(until: 603)
    expect(path.streams > 1)
  }

  @Test func `a path that becomes wider gets more streams within its rest`() {
    var path = Path(perStream: 84e6, atMost: 84e6)
    path.run(until: 5)
    path.atMost = .infinity
    path.run(until: 20)
    expect(path.streams, is: 16)
  }

  @Test func `on a slow path a measurement takes longer`() {
    var path = Path(perStream: 1e6, atMost: 1e6)
    path.run(until: 1.9)
    expect(path.changes.isEmpty)
    path.run(until: 5.5)
    expect(path.changes.map(\.streams), is: [2])
    path.run(until: 8)
    expect(path.changes.map(\.streams), is: [2, 1])
  }

  @Test func `a new session begins with the best number of the previous one`() {
    var path = Path(perStream: 84e6, limit: 8, count: 16)
    expect(path.streams, is: 8)
    path.run(until: 10)
    expect(path.changes.isEmpty)
  }

  @Test func `the count begins with two streams, and never has fewer`() {
    expect(StreamCount(limit: 16, now: 0).count, is: 2)
    expect(StreamCount(limit: 1, now: 0).count, is: 1)
    var path = Path(perStream: 84e6, atMost: 84e6, count: StreamCount.first)
    path.run(until: 3_600)
    expect(path.streams, is: 2)
    expect(path.changes.map(\.streams).prefix(2), is: [4, 2])
  }

  @Test func `during a trial the best number is the previous one`() {
    var path = Path(perStream: 84e6, atMost: 84e6, count: 2)
    while path.changes.isEmpty { path.run(until: path.now + 0.1) }
    expect(path.count.count, is: 4)
    expect(path.count.found, is: 2)
  }

  @Test func `all streams are there within a second and a half even if each frame takes long`() {
    // A disk that waits 3 ms for each of 64 files.
    var frames = LongFrames(each: 0.19)
    frames.run(until: 1.5)
    expect(frames.changes, is: [4, 16])
  }

  @Test(arguments: [0.11, 0.15, 0.19, 0.25, 0.3, 0.7])
  func `frames that all streams deliver at once are not mistaken for more or fewer`(each: Double) {
    // From the third stream on, all share the time of a frame: more of them add nothing.
    var frames = LongFrames(each: each, shared: 2)
    frames.run(until: 60)
    expect(frames.changes.count > 3)
    expect(frames.changes, is: frames.changes.indices.map { [4, 2][$0 % 2] })
  }

  @Test func `a stream that cannot be opened is not tried again`() {
    var path = Path(perStream: 84e6, count: 2)
    path.cannotOpen()
    path.run(until: 3_600)
    expect(path.streams, is: 1)
    expect(path.changes.isEmpty)
  }

  @Test func `a stream that breaks during a measurement restarts it`() {
    var count = StreamCount(limit: 16, now: 0)
    for tenth in 1...100 as ClosedRange<UInt64> {
      let step = count.look(
        StreamCount.Observation(
          time: Double(tenth) / 10, bytes: tenth * 10_000_000, frames: tenth * 10, fewest: tenth,
          isComplete: tenth % 3 != 0))
      expect(step, is: .stay)
    }
  }

  @Test func `nothing is measured before all streams have joined`() {
    var count = StreamCount(limit: 4, now: 0)
    for tenth in 1...600 as ClosedRange<UInt64> {
      let step = count.look(
        StreamCount.Observation(
          time: Double(tenth) / 10, bytes: tenth * 10_000_000, frames: tenth * 10, fewest: 0, isComplete: false))
      expect(step, is: .stay)
    }
  }
}
