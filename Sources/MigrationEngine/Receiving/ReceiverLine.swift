import MigrationWire

/// The senders that wait while another one is served, each device once, in the order in which they
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
  /// first, of which `served` are not in the line.
  mutating func wait(_ key: KeyFingerprint, served: Int, now: Double) -> Int {
    let others = count(now)
    let index = waiting.firstIndex { $0.key == key }
    let place = served + (index ?? others)
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

  /// Whether no sender that waits comes before this one; nil is one without a place.
  func isTurn(of key: KeyFingerprint?, now: Double) -> Bool {
    waiting.first { $0.until > now }.map { $0.key == key } ?? true
  }
}
