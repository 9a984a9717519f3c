/// The time during which a record is valid.
struct Lifetime: Equatable, Sendable {
  /// The longest lifetime that is accepted, in seconds.
  private static let longest = 4500.0
  /// How long a record remains valid after it is withdrawn or replaced (RFC 6762 §10.1, §10.2).
  static let farewell = 1.0

  let received: Double
  private(set) var expires: Double

  init(ttl: UInt32, now: Double) {
    received = now
    expires = now + min(Double(ttl), Self.longest)
  }

  /// When to ask for it again (RFC 6762 §5.2).
  var aging: Double { received + (expires - received) * 0.8 }

  /// Whether at least half of its time is left, so that it counts as a known answer (RFC 6762
  /// §7.1).
  func isFresh(now: Double) -> Bool { (expires - now) * 2 >= expires - received }

  func isOver(now: Double) -> Bool { expires <= now }
  func isEnding(now: Double) -> Bool { expires <= now + Self.farewell }

  /// Ends the lifetime, because the record was withdrawn.
  mutating func end(now: Double) { expires = min(expires, now + Self.farewell) }
}
