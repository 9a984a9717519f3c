import MigrationWire

/// The senders that wait while others are served, each device once, in the order in which they
/// came (Protocol §11.1).
///
/// Only a sender whose key is known has a turn, for which others wait: a stranger could wait under
/// any number of keys.
struct ReceiverLine: Sendable {
  /// For how many seconds more than its pause a sender keeps its place without coming again.
  static let patience = 5.0

  private struct Waiting: Sendable {
    let key: KeyFingerprint
    let until: Double
  }

  private var waiting: [Waiting] = []

  /// A sender has to wait: it keeps its place, or gets the last one. Returns how many senders come
  /// first, where `free` more could be served at once. While none could, one of the served senders
  /// comes first too: the next to end.
  mutating func wait(_ key: KeyFingerprint, free: Int, now: Double) -> Int {
    let others = count(now)
    let index = waiting.firstIndex { $0.key == key }
    let place = max(0, 1 + (index ?? others) - free)
    let turn = Waiting(key: key, until: now + ReadyLimits.pause(atPlace: place) + Self.patience)
    if let index { waiting[index] = turn } else { waiting.append(turn) }
    return place
  }

  /// A sender is served, and stands behind all others when it comes again.
  mutating func leave(_ key: KeyFingerprint) { waiting.removeAll { $0.key == key } }

  /// How many senders wait. Those that came no more have lost their places.
  mutating func count(_ now: Double) -> Int {
    waiting.removeAll { $0.until <= now }
    return waiting.count
  }

  /// Whether a sender is one of the next `free` ones; nil is one without a place.
  func isTurn(of key: KeyFingerprint?, free: Int, now: Double) -> Bool {
    let here = waiting.filter { $0.until > now }
    return (here.firstIndex { $0.key == key } ?? here.count) < free
  }
}
