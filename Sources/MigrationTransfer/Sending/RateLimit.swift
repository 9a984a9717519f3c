/// How fast bytes may go out: a bucket that fills evenly and holds little. Times are seconds.
///
/// A value without clocks. It grants bytes in portions, so that it keeps a slow limit as smoothly
/// as a fast one.
package struct RateLimit: Equatable, Sendable {
  /// The most that may gather without a request, as a part of a second: a thread that comes late
  /// loses nothing up to there.
  private static let slack = 0.05
  /// A portion is the number of bytes that come in this part of a second, within these bounds.
  private static let portionTime = 0.02
  private static let portions = (least: 1024.0, most: 65_536.0)
  /// Later than computed, so that rounding never makes it a moment too early.
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

  /// How many of `wanted` bytes may go out now; none if it is too early for a portion.
  package mutating func take(_ wanted: Int, now: Double) -> Int {
    level = min(capacity, level + max(0, now - filled) * rate)
    filled = max(filled, now)
    guard level >= min(Double(wanted), portion) else { return 0 }
    let taken = min(wanted, Int(level))
    level -= Double(taken)
    return taken
  }

  /// The granted bytes that could not go out.
  package mutating func giveBack(_ count: Int) { level = min(capacity, level + Double(count)) }

  /// The moment at which there is a portion for a stream that has `wanted` bytes.
  package func next(for wanted: Int) -> Double {
    filled + max(0, min(Double(wanted), portion) - level) / rate + Self.rounding
  }
}
