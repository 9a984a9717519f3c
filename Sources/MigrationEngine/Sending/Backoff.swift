/// The growing pauses between attempts to reach the other device again, within a limited time.
/// Times are seconds.
package struct Backoff: Equatable, Sendable {
  private static let first = 0.1
  private static let longest = 10.0
  /// The longest pause when the receiver turns this device away: the receiver is there, and a
  /// device that comes more often is let in sooner.
  package static let longestAtDoor = 1.0

  /// When to give up.
  private let deadline: Double
  private let longest: Double
  private var pause = Backoff.first

  /// Gives up `patience` seconds from now; with a patience of 0, there is no further attempt.
  package init(now: Double, patience: Double, longest: Double? = nil) {
    deadline = now + patience
    self.longest = longest ?? Self.longest
  }

  /// How long to wait before the next attempt; nil when it is time to give up.
  ///
  /// `spread` from 0 to 1 shortens the pause by up to a quarter, so that many senders that lost one
  /// receiver do not return at the same time.
  package mutating func next(now: Double, spread: Double) -> Double? {
    guard now < deadline else { return nil }
    defer { pause = min(longest, pause * 2) }
    return min(pause * (1 - spread / 4), deadline - now)
  }
}
