/// The user's limit of the sending rate: a token bucket of little capacity. Times are seconds.
///
/// A value without clocks. It grants bytes in portions, so that it keeps a slow limit as smoothly
/// as a fast one.
package struct RateLimit: Equatable, Sendable {
  /// The capacity in seconds of the rate: a thread that comes at most that late loses nothing.
  private static let slack = 0.05
  /// A portion is the number of bytes that come in this part of a second, within these bounds.
  private static let portionTime = 0.02
  private static let portions = (least: 1024.0, most: 65_536.0)
  /// Added to each moment, so that rounding never makes it too early.
  private static let rounding = 1e-6

  private let rate: Double
  private let portion: Double
  private let capacity: Double
  private var level = 0.0
  private var filled: Double

  package init(bytesPerSecond: UInt64, now: Double) {
    precondition(bytesPerSecond > 0, "a limit lets something through")
    rate = Double(bytesPerSecond)
    portion = min(Self.portions.most, max(Self.portions.least, rate * Self.portionTime))
    capacity = max(2 * portion, rate * Self.slack)
    filled = now
  }

  /// The number of `wanted` bytes that may be sent now; 0 if it is too early for a portion.
  package mutating func take(_ wanted: Int, now: Double) -> Int {
    level = min(capacity, level + max(0, now - filled) * rate)
    filled = max(filled, now)
    guard level >= min(Double(wanted), portion) else { return 0 }
    let taken = min(wanted, Int(level))
    level -= Double(taken)
    return taken
  }

  /// Returns granted bytes that could not be sent.
  package mutating func giveBack(_ count: Int) { level = min(capacity, level + Double(count)) }

  /// The moment at which there is a portion for a stream that has `wanted` bytes.
  package func next(for wanted: Int) -> Double {
    filled + max(0, min(Double(wanted), portion) - level) / rate + Self.rounding
  }
}

/// Detects a data stream without movement although frames are under way (Protocol §7.4). Times are
/// seconds.
///
/// A connection can fail silently in one direction, or at a router on the way, and the control
/// connection does not notice. A slow disk at the receiver looks the same to the sender; then the
/// stream is opened again without need, and each time more rarely.
package struct StallWatch: Equatable {
  /// Every movement on a stream changes one of these.
  package struct Trace: Equatable {
    /// How many frames the receiver has not written yet.
    var underWay: UInt64 = 0
    /// The number of bytes that the connection has accepted.
    var taken: UInt64 = 0
    /// The number of those bytes that the other end's kernel has not confirmed.
    var waiting = 0

    package init(underWay: UInt64 = 0, taken: UInt64 = 0, waiting: Int = 0) {
      self.underWay = underWay
      self.taken = taken
      self.waiting = waiting
    }
  }

  /// The first time limit without movement, in seconds.
  package static let patience = 30.0
  /// The longest time limit.
  private static let longestPatience = 600.0

  private let patience: Double
  private var trace = Trace()
  private var since: Double

  /// Begins to watch. `attempts` streams before this one were lost without a written frame.
  package init(now: Double, patience: Double, attempts: Int) {
    self.patience = min(Self.longestPatience, patience * Double(1 << min(attempts, 10)))
    since = now
  }

  /// Begins to watch again after a pause of this end.
  package mutating func resume(now: Double) { since = now }

  /// Whether nothing has moved for too long. `isIdle`: nothing is under way.
  package mutating func isStalled(_ trace: Trace, isIdle: Bool, now: Double) -> Bool {
    if isIdle || trace != self.trace { since = now }
    self.trace = trace
    return now - since >= patience
  }
}
