/// A responder's state for one link: the phase of its name, the times of its answers, and the
/// answers that are due.
struct AnnouncedLink: Sendable {
  /// probing → announcing → standing; a conflict leads back to probing.
  enum Phase: Equatable, Sendable {
    /// The number of probes sent, and the time of the next step. Deferred: another device's probe
    /// won (RFC 6762 §8.2).
    case probing(sent: Int, at: Double, isDeferred: Bool)
    /// The number of announcements sent, and the time of the next.
    case announcing(said: Int, at: Double)
    case standing
  }

  /// The pause before the same record is multicast again, in seconds (§6).
  static let pause = 1.0
  /// The same pause when it answers a probe.
  static let pauseBeforeDefence = 0.25
  /// The most questions that wait for more known answers at a time.
  static let mostHeld = 16
  /// The number of unicast answers that are sent in a second, and at once.
  static let unicastRate = 10.0

  var addresses: [IPAddress]
  var phase: Phase
  /// When each kind was last multicast.
  private var sentAt: [AnswerKind: Double] = [:]
  /// When each kind that is due may be sent.
  private var due: [AnswerKind: Double] = [:]
  private(set) var held: [HeldQuestion] = []
  private var unicastTokens = unicastRate
  private var tokensAt: Double

  init(_ addresses: [IPAddress], probingAt start: Double, now: Double) {
    self.addresses = addresses
    phase = .probing(sent: 0, at: start, isDeferred: false)
    tokensAt = now
  }

  /// Whether the name is established there, as far as probing shows.
  var isProbed: Bool {
    if case .probing = phase { false } else { true }
  }

  /// Whether no probe for the name has been sent there, not even one that lost.
  var isBeforeProbes: Bool {
    if case .probing(sent: 0, _, isDeferred: false) = phase { true } else { false }
  }

  /// Whether it leads only to this device.
  var isLoopback: Bool { addresses.allSatisfy(\.isLoopback) }

  /// When the next step is due there.
  var nextMoment: Double? {
    var moments = Array(due.values) + held.map(\.due)
    switch phase {
    case .probing(_, let at, _), .announcing(_, let at): moments.append(at)
    case .standing: break
    }
    return moments.min()
  }

  /// Starts probing again, with no answers due.
  mutating func probe(at start: Double, isDeferred: Bool = false) {
    phase = .probing(sent: 0, at: start, isDeferred: isDeferred)
    due = [:]
    held = []
  }

  /// Forgets the sending times of records whose content changes.
  mutating func renew(where isChanged: (AnswerKind) -> Bool) {
    sentAt = sentAt.filter { !isChanged($0.key) }
  }

  // Answers to all

  /// Schedules answers for a time, or later if they were sent just before.
  mutating func owe(_ kinds: AnswerSet, from time: Double, isDefence: Bool = false) {
    for kind in kinds {
      let allowed = allowed(kind, after: isDefence ? Self.pauseBeforeDefence : Self.pause)
      due[kind] = min(due[kind] ?? .infinity, max(time, allowed))
    }
  }

  /// Cancels an answer that another device has given.
  mutating func settle(_ kind: AnswerKind) { due[kind] = nil }

  /// The records to multicast now: those that are due, and all scheduled records that may be sent
  /// already.
  mutating func takeDue(now: Double) -> AnswerSet {
    guard due.values.contains(where: { $0 <= now }) else { return [] }
    var taken: AnswerSet = []
    for (kind, time) in due where time <= now || maySend(kind, now: now) { taken.insert(kind) }
    return taken
  }

  /// The kinds that were not multicast just before.
  func sendable(_ kinds: AnswerSet, now: Double) -> AnswerSet {
    AnswerSet(kinds.filter { maySend($0, now: now) })
  }

  /// Records that the kinds are multicast now.
  mutating func sent(_ kinds: AnswerSet, now: Double) {
    for kind in kinds {
      sentAt[kind] = now
      due[kind] = nil
    }
  }

  /// Whether it was multicast within this many seconds.
  func wasSent(_ kind: AnswerKind, within seconds: Double, now: Double) -> Bool {
    sentAt[kind].map { now - $0 < seconds } ?? false
  }

  private func maySend(_ kind: AnswerKind, now: Double) -> Bool { allowed(kind, after: Self.pause) <= now }

  private func allowed(_ kind: AnswerKind, after pause: Double) -> Double {
    sentAt[kind].map { $0 + pause } ?? -.infinity
  }

  // Answers to one asker

  /// Whether one more unicast answer may be sent; if so, it counts.
  mutating func takeUnicast(now: Double) -> Bool {
    unicastTokens = min(Self.unicastRate, unicastTokens + (now - tokensAt) * Self.unicastRate)
    tokensAt = now
    guard unicastTokens >= 1 else { return false }
    unicastTokens -= 1
    return true
  }

  // Questions whose known answers come in several packets

  /// Holds a question back until a time; false if it must be answered without waiting.
  mutating func hold(_ source: Source, _ wanted: AnswerSet, until due: Double, now: Double) -> Bool {
    if let index = held.firstIndex(where: { $0.source == source }) {
      held[index].wanted.formUnion(wanted)
      held[index].due = min(due, held[index].since + HeldQuestion.longest)
      return true
    }
    guard held.count < Self.mostHeld else { return false }
    held.append(HeldQuestion(source: source, wanted: wanted, since: now, due: due))
    return true
  }

  /// Removes the answers that an asker knows from its questions.
  mutating func release(_ source: Source, known: (AnswerSet) -> AnswerSet) {
    guard let index = held.firstIndex(where: { $0.source == source }) else { return }
    held[index].wanted.subtract(known(held[index].wanted))
  }

  /// The answers that the held-back askers do not know.
  mutating func takeHeld(now: Double) -> AnswerSet {
    let wanted = held.reduce(into: AnswerSet()) { if $1.due <= now { $0.formUnion($1.wanted) } }
    held.removeAll { $0.due <= now }
    return wanted
  }

  /// A question whose asker sends more known answers (RFC 6762 §7.2).
  struct HeldQuestion: Sendable {
    /// The longest time for which it is held back, regardless of how many packets follow, in seconds.
    static let longest = 2.0

    let source: Source
    var wanted: AnswerSet
    let since: Double
    var due: Double
  }
}
