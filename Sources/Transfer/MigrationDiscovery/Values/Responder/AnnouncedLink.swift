import MigrationSystem

/// A responder's state for one link: its announcements, the times of its answers, and the answers that
/// are due.
struct AnnouncedLink: Sendable {
  /// The pause before the same record is multicast again, in seconds (RFC 6762 §6).
  private static let pause = 1.0
  /// The number of announcements; the pauses between them start at one second and double (§8.3).
  private static let announcements = 3

  private(set) var addresses: [SocketAddress]
  /// The number of announcements sent, and the time of the next; nil after the last.
  private var said = 0
  private var announceAt: Double?
  /// When each kind was last multicast.
  private var sentAt: [AnswerKind: Double] = [:]
  /// When each kind that is due may be sent.
  private var due: [AnswerKind: Double] = [:]

  init(_ addresses: [SocketAddress], announcingAt start: Double) {
    self.addresses = addresses
    announceAt = start
  }

  /// Whether its records were sent there.
  var isAnnounced: Bool { sentAt[.pointer] != nil }

  /// Whether it leads only to this device.
  var isLoopback: Bool { addresses.allSatisfy(\.isLoopback) }

  /// When the next step is due there.
  var nextMoment: Double? { (Array(due.values) + [announceAt].compactMap { $0 }).min() }

  /// Announces again with other addresses (RFC 6762 §8.4). Returns those that are gone.
  mutating func change(to addresses: [SocketAddress], now: Double) -> [SocketAddress] {
    defer { self.addresses = addresses }
    (sentAt[.v4], sentAt[.v6]) = (nil, nil)
    (said, announceAt) = (0, now)
    return self.addresses.filter { !addresses.contains($0) }
  }

  /// Schedules answers for a time, or later if they were sent just before.
  mutating func owe(_ kinds: Set<AnswerKind>, from time: Double) {
    for kind in kinds { due[kind] = min(due[kind] ?? .infinity, max(time, allowed(kind))) }
  }

  /// The records to multicast now, which count as sent: those that are due, and all scheduled records
  /// that may be sent already; and behind them those that the asker is likely to need (RFC 6763 §12).
  mutating func takeDue(now: Double) -> (answers: Set<AnswerKind>, additions: Set<AnswerKind>) {
    if let at = announceAt, at <= now {
      owe(AnswerKind.all, from: now)
      said += 1
      announceAt = said < Self.announcements ? now + Self.pause * Double(1 << (said - 1)) : nil
    }
    guard due.values.contains(where: { $0 <= now }) else { return ([], []) }
    let answers = Set(due.filter { $1 <= now || allowed($0) <= now }.keys)
    let additions = AnswerKind.all.subtracting(answers).filter { kind in
      allowed(kind) <= now && answers.contains { $0 < kind }
    }
    for kind in answers.union(additions) { (sentAt[kind], due[kind]) = (now, nil) }
    return (answers, additions)
  }

  private func allowed(_ kind: AnswerKind) -> Double { sentAt[kind].map { $0 + Self.pause } ?? -.infinity }
}
