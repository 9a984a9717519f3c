/// The pauses between tries to reach the other device again: growing, and within a time. Times are seconds.
struct Backoff: Equatable, Sendable {
  private static let first = 0.1
  private static let longest = 10.0

  /// When to give up.
  private let deadline: Double
  private var pause = Backoff.first

  /// Gives up `patience` seconds from now; never starts with none.
  init(now: Double, patience: Double) { deadline = now + patience }

  /// How long to wait before the next try; nil when it is time to give up.
  ///
  /// `spread` from 0 to 1 shortens it by up to a quarter, so that many that lost one device do not come back at a time.
  mutating func next(now: Double, spread: Double) -> Double? {
    guard now < deadline else { return nil }
    defer { pause = min(Self.longest, pause * 2) }
    return min(pause * (1 - spread / 4), deadline - now)
  }
}
