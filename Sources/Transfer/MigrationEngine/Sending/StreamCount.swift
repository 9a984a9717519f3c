/// Finds the best number of data streams by trial. Times are seconds.
///
/// A value without clocks: it reads the counters of the streams now and then, and decides what to
/// change. It begins with two streams. While frames wait for streams, the number doubles as long as
/// throughput grows with it, and quadruples where throughput has grown in proportion; a step that
/// gains almost nothing is undone. Then it rests, longer each time, so that a user who watches for
/// an hour sees a handful of changes.
///
/// On a slow disk or network, each stream delivers one frame after the other, all streams at nearly
/// the same time. Therefore it measures throughput from one frame to another, not from look to
/// look.
package struct StreamCount: Sendable {
  /// The counters of the streams at a moment.
  package struct Observation: Equatable, Sendable {
    package var time: Double
    /// How many bytes the receiver has written since the session began.
    package var bytes: UInt64
    package var frames: UInt64
    /// When the last of them was written.
    package var written: Double
    /// How many frames are written of the stream with the fewest.
    package var fewest: UInt64
    /// Whether all requested streams have joined.
    package var isComplete = true
    /// Whether frames wait until a stream takes them, and wait only for the streams.
    package var isWaiting = true

    package init(
      time: Double, bytes: UInt64, frames: UInt64, written: Double? = nil, fewest: UInt64, isComplete: Bool = true,
      isWaiting: Bool = true
    ) {
      self.time = time
      self.written = written ?? time
      self.bytes = bytes
      self.frames = frames
      self.fewest = fewest
      self.isComplete = isComplete
      self.isWaiting = isWaiting
    }
  }

  /// The change to make.
  package enum Step: Equatable, Sendable {
    case stay
    case open(Int)
    /// Streams end once their frames are written.
    case end(Int)
  }

  private enum State: Equatable {
    /// The streams of this number start. Leads to measuring.
    case settling(since: Double)
    /// Their throughput is measured; `waiting` of `looks` looks found waiting frames. Leads to
    /// settling or resting.
    case measuring(from: Observation, looks: Int, waiting: Int)
    /// As far as is known, no other number is better. Leads to measuring.
    case resting(until: Double)
  }

  private struct Earlier {
    let count: Int
    /// In bytes per second.
    let rate: Double

    /// The least number, doubled from `count`, that is at least `gain` times `count`.
    func doubled(atLeast gain: Double) -> Int {
      var doubled = count
      while Double(doubled) < gain * Double(count) { doubled *= 2 }
      return doubled
    }
  }

  /// How many streams a transfer begins with.
  package static let first = 2

  /// How many written frames of each stream count as up to speed, and how many seconds that may
  /// take.
  private static let warmUp: (frames: UInt64, seconds: Double) = (1, 2)
  /// The seconds that a measurement takes; it takes longer until each stream has delivered a frame.
  private static let enough = 0.15
  private static let longest = 20.0
  /// A step with a smaller gain is undone.
  private static let leastGain = 1.1
  /// The share of proportional growth at which another step is tried at once, and the share at
  /// which that step is longer.
  private static let goodShare = 0.33
  private static let fullShare = 0.75
  /// The seconds of the first and the longest rest after a trial, and of a rest while frames do not
  /// wait for streams.
  private static let rests = (first: 3.0, last: 600.0, idle: 1.0)

  private var limit: Int
  /// How many streams there should be.
  package private(set) var count: Int
  /// The throughput of the previous number.
  private var before: Earlier?
  private var rest = Self.rests.first
  private var state: State

  /// Begins with `count` streams; `limit` is the most there may be.
  package init(count: Int = first, limit: Int, now: Double) {
    self.limit = limit
    self.count = max(1, min(count, limit))
    state = .settling(since: now)
  }

  /// The best number so far; while another one is tried, the number before it.
  package var found: Int { before?.count ?? count }

  /// A stream cannot be opened: from now on, the number of the other streams is the limit.
  package mutating func cannotOpen(now: Double) {
    count = max(1, count - 1)
    limit = count
    _ = settle(now)
  }

  /// Nothing was sent for a while: a measurement begins again.
  package mutating func resume(now: Double) {
    if case .measuring = state { state = .settling(since: now) }
  }

  /// Reads the counters. Valid in every state.
  package mutating func look(_ now: Observation) -> Step {
    switch state {
    case .settling(let since):
      if !now.isComplete {
        state = .settling(since: now.time)
      } else if now.fewest >= Self.warmUp.frames || now.time - since >= Self.warmUp.seconds {
        state = .measuring(from: now, looks: 0, waiting: 0)
      }
      return .stay
    case .measuring where !now.isComplete:
      // A stream broke; the throughput of the others is no measure meanwhile.
      state = .settling(since: now.time)
      return .stay
    case .measuring(let start, let looks, let waiting):
      let (looks, waiting) = (looks + 1, waiting + (now.isWaiting ? 1 : 0))
      let isLong = now.time - start.time >= Self.longest
      let seconds = isLong ? now.time - start.time : now.written - start.written
      guard isLong || seconds >= Self.enough && now.frames - start.frames >= count else {
        state = .measuring(from: start, looks: looks, waiting: waiting)
        return .stay
      }
      return judge(Double(now.bytes - start.bytes) / seconds, isHeldBack: 4 * waiting >= 3 * looks, now.time)
    case .resting(let end):
      if now.time >= end { state = .measuring(from: now, looks: 0, waiting: 0) }
      return .stay
    }
  }

  /// A measurement has ended. `isHeldBack`: frames waited at three quarters of the looks or more.
  private mutating func judge(_ rate: Double, isHeldBack: Bool, _ now: Double) -> Step {
    var step = count
    if let before {
      let gain = rate / max(before.rate, 1)
      if gain < Self.leastGain { return takeBack(to: before.count, now) }
      let share = (gain - 1) / (Double(count) / Double(before.count) - 1)
      guard share >= Self.goodShare else { return takeBack(to: min(count, before.doubled(atLeast: gain)), now) }
      if share >= Self.fullShare { step = 3 * count }
    }
    guard isHeldBack else {
      before = nil
      state = .resting(until: now + Self.rests.idle)
      return .stay
    }
    guard count < limit else { return settle(now) }
    let more = min(step, limit - count)
    before = Earlier(count: count, rate: rate)
    count += more
    state = .settling(since: now)
    return .open(more)
  }

  private mutating func takeBack(to fewer: Int, _ now: Double) -> Step {
    let surplus = count - fewer
    count = fewer
    _ = settle(now)
    return surplus > 0 ? .end(surplus) : .stay
  }

  private mutating func settle(_ now: Double) -> Step {
    before = nil
    state = .resting(until: now + rest)
    rest = min(2 * rest, Self.rests.last)
    return .stay
  }
}
