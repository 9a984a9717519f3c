/// Counts conflicts over names, so that a device that contradicts without end is not answered without end
/// (RFC 6762 §8.1, which has a span of ten seconds).
struct NameConflicts: Sendable {
  /// So many conflicts within so many seconds are too many.
  private static let most = 15
  private static let span = 60.0
  /// How long the next probe waits then, in seconds.
  private static let wait = 5.0

  private var times: [Double] = []

  /// Counts one, and says how long the next probe has to wait, or nil for no longer than usual.
  mutating func count(now: Double) -> Double? {
    times = times.filter { now - $0 < Self.span }.suffix(Self.most - 1) + [now]
    return times.count >= Self.most ? Self.wait : nil
  }
}
