/// A supply that refills with time, up to its capacity. Times are seconds.
///
/// A value without clocks. It may be overdrawn.
package struct TokenBucket: Equatable, Sendable {
  /// Added to each moment, so that rounding never makes it too early.
  private static let rounding = 1e-6

  private let rate: Double
  private let capacity: Double
  /// How much there was at a moment.
  private var level: Double
  private var at: Double

  /// `rate` is how much comes in a second; it begins with `level`.
  package init(rate: Double, capacity: Double, level: Double, now: Double) {
    (self.rate, self.capacity, self.level, at) = (rate, capacity, level, now)
  }

  /// How much there is.
  package func level(now: Double) -> Double { min(capacity, level + max(0, now - at) * rate) }

  package mutating func take(_ count: Double, now: Double) {
    level = level(now: now) - count
    at = max(at, now)
  }

  /// Something that was taken was not needed.
  package mutating func giveBack(_ count: Double) { level += count }

  /// When there will be so much.
  package func moment(of count: Double) -> Double { at + max(0, count - level) / rate + Self.rounding }
}
