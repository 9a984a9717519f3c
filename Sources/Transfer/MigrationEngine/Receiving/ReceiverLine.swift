import MigrationWire

/// The senders that wait while others are served, each device once, in the order in which they
/// came (Protocol §A.3).
///
/// Only a sender with a known key has a place: a stranger could wait under any number of keys.
struct ReceiverLine: Sendable {
  /// The seconds after its pause for which a sender keeps its place without coming again.
  static let patience = 5.0

  private struct Waiting: Sendable {
    let key: KeyFingerprint
    let until: Double
  }

  private var waiting: [Waiting] = []

  /// A sender has to wait: it keeps its place, or gets the last place. Returns how many senders
  /// come first, if the receiver has room for `free` more. If it has no room, the count includes
  /// the served sender that ends next.
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

  /// How many senders wait. A sender that did not come again in time has lost its place.
  mutating func count(_ now: Double) -> Int {
    waiting.removeAll { $0.until <= now }
    return waiting.count
  }

  /// Whether a sender is among the next `free` senders; nil stands for a sender without a place.
  func isTurn(of key: KeyFingerprint?, free: Int, now: Double) -> Bool {
    let here = waiting.filter { $0.until > now }
    return (here.firstIndex { $0.key == key } ?? here.count) < free
  }
}
