import MigrationWire

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

  private let portion: Double
  private var bucket: TokenBucket

  package init(bytesPerSecond: UInt64, now: Double) {
    precondition(bytesPerSecond > 0, "a limit lets something through")
    let rate = Double(bytesPerSecond)
    portion = min(Self.portions.most, max(Self.portions.least, rate * Self.portionTime))
    bucket = TokenBucket(rate: rate, capacity: max(2 * portion, rate * Self.slack), level: 0, now: now)
  }

  /// The number of `wanted` bytes that may be sent now; 0 if it is too early for a portion.
  package mutating func take(_ wanted: Int, now: Double) -> Int {
    let level = bucket.level(now: now)
    guard level >= min(Double(wanted), portion) else { return 0 }
    let taken = min(wanted, Int(level))
    bucket.take(Double(taken), now: now)
    return taken
  }

  /// Returns granted bytes that could not be sent.
  package mutating func giveBack(_ count: Int) { bucket.giveBack(Double(count)) }

  /// The moment at which there is a portion for a stream that has `wanted` bytes.
  package func next(for wanted: Int) -> Double { bucket.moment(of: min(Double(wanted), portion)) }
}
