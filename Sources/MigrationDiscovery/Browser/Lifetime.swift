/// From when to when a record holds.
struct Lifetime: Equatable, Sendable {
  /// The longest that is believed, in seconds.
  private static let longest = 4500.0
  /// How long a record that is taken back or replaced still holds (RFC 6762 §10.1, §10.2).
  static let farewell = 1.0

  let received: Double
  private(set) var expires: Double

  init(ttl: UInt32, now: Double) {
    received = now
    expires = now + min(Double(ttl), Self.longest)
  }

  /// When it should be asked for again (RFC 6762 §5.2).
  var aging: Double { received + (expires - received) * 0.8 }

  /// Whether at least half of its time is left, so that it counts as a known answer (RFC 6762 §7.1).
  func isFresh(now: Double) -> Bool { (expires - now) * 2 >= expires - received }

  func isOver(now: Double) -> Bool { expires <= now }
  func isEnding(now: Double) -> Bool { expires <= now + Self.farewell }

  /// The record is taken back.
  mutating func end(now: Double) { expires = min(expires, now + Self.farewell) }
}
