/// Decides when an exporter has to be killed: it appends nothing for too long, or does not let a cancellation pass.
///
/// The clock of the idle limit stands still while an append is pending, however long that takes: neither a huge file nor a
/// network that is down counts against the exporter. Times are seconds on any clock that only goes forward.
struct ExportWatch: Equatable, Sendable {
  enum Verdict: Equatable, Sendable {
    /// It appended nothing for so many seconds.
    case hung(Double)
    /// It did not end after it was cancelled.
    case ignoresCancellation
  }

  private enum State: Equatable {
    /// Nothing is pending since then.
    case idle(since: Double)
    case appending
    case cancelled(at: Double)
  }

  /// How long it may append nothing.
  static let idleLimit: Double = 30
  /// How long it may take to end after it was cancelled.
  static let grace: Double = 5

  let idleLimit: Double
  private var state: State

  init(idleLimit: Double = Self.idleLimit, now: Double) {
    self.idleLimit = idleLimit
    state = .idle(since: now)
  }

  var isCancelled: Bool { if case .cancelled = state { true } else { false } }

  mutating func appendBegan() {
    if !isCancelled { state = .appending }
  }

  mutating func appendEnded(now: Double) {
    if !isCancelled { state = .idle(since: now) }
  }

  /// The exporter was told to end.
  mutating func cancelled(now: Double) {
    if !isCancelled { state = .cancelled(at: now) }
  }

  /// When to ask for a verdict next; nil while an append is pending.
  var deadline: Double? {
    switch state {
    case .idle(let since): since + idleLimit
    case .appending: nil
    case .cancelled(let at): at + Self.grace
    }
  }

  /// What has to be done; nil if nothing has.
  func verdict(now: Double) -> Verdict? {
    guard let deadline, now >= deadline else { return nil }
    return isCancelled ? .ignoresCancellation : .hung(idleLimit)
  }
}
