/// Finds by trying how many data streams are worth having. Times are seconds.
///
/// A value without clocks: it is told now and then how the streams do, and says what to change. It begins with two. While
/// frames wait for streams, the number doubles as long as what arrives grows with it, and quadruples where it has grown as much;
/// what brings next to nothing is taken back. Then it rests, longer each time, so that a user who watches for an hour sees a
/// handful of changes.
///
/// Where a disk or the way is slow, each stream brings one frame after the other, all of them at nearly the same time. So what
/// they bring is measured from one frame to another, not from look to look.
package struct StreamCount: Sendable {
  /// How the streams do at a moment.
  package struct Observation: Equatable, Sendable {
    package var time: Double
    /// How much the receiver has written since the session began.
    package var bytes: UInt64
    package var frames: UInt64
    /// When the last of them was written.
    package var written: Double
    /// How many frames of the stream with the fewest are written.
    package var fewest: UInt64
    /// Whether all streams that were asked for have joined.
    package var isComplete = true
    /// Whether frames wait until a stream takes them, and nothing but the streams makes them wait.
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

  /// What to change.
  package enum Step: Equatable, Sendable {
    case stay
    case open(Int)
    /// End so many streams, once what they carry is written.
    case end(Int)
  }

  private enum State: Equatable {
    /// The streams of this number come up. Leads to measuring.
    case settling(since: Double)
    /// What they carry is measured; at so many of the looks frames waited. Leads to settling or resting.
    case measuring(from: Observation, looks: Int, waiting: Int)
    /// No number would be better, as far as is known. Leads to measuring.
    case resting(until: Double)
  }

  private struct Earlier {
    let count: Int
    /// In bytes a second.
    let rate: Double

    /// As many as `gain` times so many would need, in steps of doubling.
    func doubled(atLeast gain: Double) -> Int {
      var doubled = count
      while Double(doubled) < gain * Double(count) { doubled *= 2 }
      return doubled
    }
  }

  /// How many streams a transfer begins with.
  package static let first = 2

  /// How many frames of each stream are written when it counts as up to speed, and how long that may take.
  private static let warmUp: (frames: UInt64, seconds: Double) = (1, 2)
  /// A measurement takes so long, or longer until each stream has brought a frame.
  private static let enough = 0.15
  private static let longest = 20.0
  /// A step that brings less is taken back.
  private static let leastGain = 1.1
  /// The part of proportional growth that makes another step worth trying at once, and that which makes it a longer one.
  private static let goodShare = 0.33
  private static let fullShare = 0.75
  /// How long it rests at first and at last after a try, and where streams are not what it waits for.
  private static let rests = (first: 3.0, last: 600.0, idle: 1.0)

  private var limit: Int
  /// How many streams there shall be.
  package private(set) var count: Int
  /// What the number before this one brought.
  private var before: Earlier?
  private var rest = Self.rests.first
  private var state: State

  /// Begins with `count` streams; `limit` is the most there may be.
  package init(count: Int = first, limit: Int, now: Double) {
    self.limit = limit
    self.count = max(1, min(count, limit))
    state = .settling(since: now)
  }

  /// The number that was found best so far; while another one is tried, that before it.
  package var found: Int { before?.count ?? count }

  /// One of the streams cannot be opened: as many as there are without it are the most there may be.
  package mutating func cannotOpen(now: Double) {
    count = max(1, count - 1)
    limit = count
    _ = settle(now)
  }

  /// Looks at the streams. Valid in every state.
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
      // One broke; what the others bring meanwhile is no measure.
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

  /// A measurement is over. `isHeldBack`: frames waited nearly all the time.
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
