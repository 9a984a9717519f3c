/// Decides when to send a PING, and when the other end counts as dead (Protocol §7.4). Times are
/// seconds on a clock that counts sleep.
package struct Heartbeat: Equatable, Sendable {
  package static let pause: Double = 5
  package static let silence: Double = 15

  private var lastSent: Double
  private var lastHeard: Double
  private var token: UInt64 = 0

  package init(now: Double) {
    lastSent = now
    lastHeard = now
  }

  package mutating func sent(now: Double) { lastSent = now }
  package mutating func heard(now: Double) { lastHeard = now }

  /// The next time at which a PING is due or the other end becomes silent.
  package var next: Double { min(lastSent + Self.pause, lastHeard + Self.silence) }

  package func isSilent(now: Double) -> Bool { now >= lastHeard + Self.silence }

  /// The PING that is due now, if any.
  package mutating func due(now: Double) -> ControlMessage? {
    guard now >= lastSent + Self.pause else { return nil }
    token += 1
    lastSent = now
    return .ping(token)
  }
}
