/// Counts conflicts over names, so that a device that contradicts without limit is not answered
/// without limit (RFC 6762 §8.1, with a period of ten seconds).
struct NameConflicts: Sendable {
  /// This many conflicts within this many seconds are too many.
  private static let most = 15
  private static let span = 60.0
  /// The pause before the next probe in this case, in seconds.
  private static let wait = 5.0

  private var times: [Double] = []

  /// Counts a conflict. Returns how long the next probe has to wait, or nil for the usual time.
  mutating func count(now: Double) -> Double? {
    times = times.filter { now - $0 < Self.span }.suffix(Self.most - 1) + [now]
    return times.count >= Self.most ? Self.wait : nil
  }
}
