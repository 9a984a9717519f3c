import MigrationSystem

/// Who may be in front of READY at a time (Protocol §11): few, and the oldest makes room. A pure table; its owner holds the lock.
struct AdmissionGate {
  static let places = 8
  static let placesPerAddress = 2

  /// Names one connection in front of READY.
  typealias Ticket = UInt64

  private var waiting: [(ticket: Ticket, host: String, evict: Wakeup)] = []
  private var next: Ticket = 0

  /// Lets a connection in, evicting the oldest that stands in its way.
  mutating func enter(host: String, wakeup: Wakeup) -> Ticket {
    if waiting.count(where: { $0.host == host }) >= Self.placesPerAddress {
      evict { $0 == host }
    }
    if waiting.count >= Self.places { evict { _ in true } }
    next += 1
    waiting.append((next, host, wakeup))
    return next
  }

  /// The connection is past READY, or gone.
  mutating func leave(_ ticket: Ticket) {
    waiting.removeAll { $0.ticket == ticket }
  }

  var count: Int { waiting.count }

  private mutating func evict(_ isMeant: (String) -> Bool) {
    guard let index = waiting.firstIndex(where: { isMeant($0.host) }) else { return }
    waiting.remove(at: index).evict.signal()
  }
}

/// How fast connections are accepted (Protocol §11): ten a second, bursts of twenty. Times are seconds.
struct AcceptBucket: Equatable, Sendable {
  static let rate: Double = 10
  static let burst: Double = 20

  private var tokens = AcceptBucket.burst
  private var last: Double

  init(now: Double) { last = now }

  /// Takes a token; if there is none, how long until there is.
  mutating func take(now: Double) -> Double? {
    tokens = min(Self.burst, tokens + max(0, now - last) * Self.rate)
    last = now
    guard tokens >= 1 else { return (1 - tokens) / Self.rate }
    tokens -= 1
    return nil
  }

  /// Nobody was there to be accepted.
  mutating func giveBack() { tokens = min(Self.burst, tokens + 1) }
}
