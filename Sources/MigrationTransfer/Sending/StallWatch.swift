/// Notices when nothing moves any more on a data stream that has something under way (Protocol
/// §7.4). Times are seconds.
///
/// A connection can die in one direction, or in a box on the way, without a word, and the control
/// connection knows nothing of it. A slow disk at the receiver looks the same from here; then the
/// stream is opened anew for nothing, ever more rarely.
package struct StallWatch: Equatable {
  /// Every movement on a stream changes one of these.
  package struct Trace: Equatable {
    /// How many frames the receiver has not written yet.
    var underWay: UInt64 = 0
    /// How many bytes the connection has taken.
    var taken: UInt64 = 0
    /// How many of them the other end's kernel does not have yet.
    var waiting = 0

    package init(underWay: UInt64 = 0, taken: UInt64 = 0, waiting: Int = 0) {
      self.underWay = underWay
      self.taken = taken
      self.waiting = waiting
    }
  }

  /// How long nothing may move, at first.
  package static let patience = 30.0
  /// How long at most, however often it was in vain.
  private static let longestPatience = 600.0

  private let patience: Double
  private var trace = Trace()
  private var since: Double

  /// Starts to watch; `attempts` streams were opened before this one since something arrived.
  package init(now: Double, patience: Double, attempts: Int) {
    self.patience = min(Self.longestPatience, patience * Double(1 << min(attempts, 10)))
    since = now
  }

  /// This end has not looked for a while, and watches from now on.
  package mutating func resume(now: Double) { since = now }

  /// Whether nothing has moved for too long. `isIdle`: nothing is under way.
  package mutating func isStalled(_ trace: Trace, isIdle: Bool, now: Double) -> Bool {
    if isIdle || trace != self.trace { since = now }
    self.trace = trace
    return now - since >= patience
  }
}
