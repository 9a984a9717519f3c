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
