/// The pauses between attempts: each is twice as long as the one before, up to the longest. Times are
/// seconds.
package struct Backoff: Equatable, Sendable {
  /// The longest pause when the receiver turns this device away: the receiver is there, and a
  /// device that comes more often is let in sooner.
  package static let longestBeforeReady = 1.0

  private let first: Double
  package let longest: Double
  /// When to give up.
  private let deadline: Double
  private var pause: Double

  /// Gives up `patience` seconds from now; with a patience of 0, there is no further attempt.
  package init(now: Double = 0, patience: Double = .infinity, first: Double = 0.1, longest: Double = 10) {
    (self.first, self.longest) = (first, longest)
    deadline = now + patience
    pause = first
  }

  /// How long to wait before the next attempt; nil when it is time to give up.
  ///
  /// `spread` from 0 to 1 shortens the pause by up to a quarter, so that many devices that lost one
  /// other end do not return at the same time. A pause that the other end asks for is kept, up to
  /// the longest.
  package mutating func next(now: Double, spread: Double, atLeast asked: Double = 0) -> Double? {
    guard now < deadline else { return nil }
    defer { pause = min(longest, pause * 2) }
    return min(max(pause, min(asked, longest)) * (1 - spread / 4), deadline - now)
  }

  /// The last attempt was good: the next pause is the first again.
  package mutating func restart() { pause = first }
}
