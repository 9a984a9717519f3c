/// The number of bytes that a data stream may have under way: those that the other end writes soon.
/// Where that is slow, the rest is left to the streams that come up beside it. Times are seconds.
///
/// A value without clocks. It counts bytes on the link: compressed frames carry more than they
/// weigh.
struct StreamPace: Sendable {
  /// How many bytes may be under way in any case, and how many more after each time that nothing
  /// was heard: another receiver may tell of many frames at once.
  static let least = 512 << 10
  /// The bytes that are written within this time, or within twice the shortest time of a frame if
  /// that is longer, may be under way.
  static let soon = 0.5
  /// The shortest period for which written bytes are counted.
  private static let look = 0.1

  /// The lengths of the frames under way, the oldest first, and all of them together.
  private var lengths: [Int] = []
  private(set) var underWay = 0
  /// The bytes that were written since a moment.
  private var counted: (since: Double, bytes: Int) = (0, 0)
  /// How many bytes were written a second lately, and before that.
  private var rates: (last: Double, before: Double)?
  /// When the frame was sent whose way is timed, and how many are in front of it.
  private var timed: (since: Double, ahead: Int)?
  private var shortestWay = Double.infinity
  /// How many bytes the other end has told of at once at most.
  private var longestReport = 0
  /// When it told of any last, or when the first frame went that it can tell of.
  private var heard = 0.0

  /// The time from which on another frame may go; nil where one may go now.
  func next(now: Double) -> Double? {
    let silence = patience
    let silences = ((now - heard) / silence).rounded(.down)
    return underWay < limit + Int(silences) * Self.least ? nil : heard + (silences + 1) * silence
  }

  private var patience: Double { shortestWay.isFinite ? max(Self.soon, 2 * shortestWay) : Self.soon }

  private var limit: Int {
    let least = max(Self.least, 2 * longestReport)
    guard let rates else { return least }
    return max(least, Int(max(rates.last, rates.before) * patience))
  }

  /// A frame of so many bytes goes.
  mutating func sends(_ length: Int, now: Double) {
    if timed == nil { timed = (now, lengths.count) }
    if lengths.isEmpty {
      // The receiver could write nothing for a while. Bytes that pass between two rounds of a long
      // way count.
      if now - heard > Self.look { counted = (now, 0) }
      heard = now
    }
    lengths.append(length)
    underWay += length
  }

  /// The other end has written so many frames more.
  mutating func wrote(_ frames: Int, now: Double) {
    let bytes = lengths.prefix(frames).reduce(0, +)
    lengths.removeFirst(frames)
    underWay -= bytes
    guard frames > 0 else { return }
    heard = now
    // One frame at a time is how a receiver tells that does so soon.
    if frames > 1 { longestReport = max(longestReport, bytes) }
    if let (since, ahead) = timed {
      timed = frames > ahead ? nil : (since, ahead - frames)
      if frames > ahead { shortestWay = min(shortestWay, now - since) }
    }
    counted.bytes += bytes
    let seconds = now - counted.since
    guard seconds >= Self.look else { return }
    let rate = Double(counted.bytes) / seconds
    rates = (rate, rates?.last ?? rate)
    counted = (now, 0)
  }
}
