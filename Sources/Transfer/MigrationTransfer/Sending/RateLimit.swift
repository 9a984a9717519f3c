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
