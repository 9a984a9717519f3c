import MigrationSystem

/// Decides when an extension has to be killed: it is silent for too long, or does not let a cancellation pass.
///
/// The clock of the limit stands still while an append is pending, however long that takes: neither a huge file nor a network
/// that is down counts against the exporter. Nor does time in which the extension did not run: it was stopped, or this process
/// was, or the machine slept. So time is what passes from look to look, at most `longestStep` of it: more has passed only
/// where this process did not run. Times are seconds on any clock that only goes forward.
struct ExportWatch: Equatable, Sendable {
  enum Verdict: Equatable, Sendable {
    /// It has been silent for so many seconds, half of what it may be. Said once in each silence.
    case quiet(Double)
    /// It was silent for so many seconds.
    case hung(Double)
    /// It did not end after it was cancelled.
    case ignoresCancellation
  }

  private enum State: Equatable {
    /// Silent for so long, and whether that was said.
    case idle(Double, isSaid: Bool)
    case appending
    /// Cancelled so long ago.
    case cancelled(Double)
  }

  /// How long it may take to end after it was cancelled.
  static let grace: Double = 5
  /// How long it may take to describe its export.
  static let descriptionLimit: Double = 60
  /// How much later the next look is, at most.
  static let step: Double = 1
  /// How much of the time between two looks counts, at most.
  static let longestStep: Double = 1.5

  let limit: IdleLimit
  private var state = State.idle(0, isSaid: false)
  private var lastLook: Double

  init(limit: IdleLimit = .standard, now: Double) {
    self.limit = limit
    lastLook = now
  }

  var isCancelled: Bool { if case .cancelled = state { true } else { false } }

  /// Whether its silence is counted.
  var isIdle: Bool { if case .idle = state { limit != .off } else { false } }

  mutating func appendBegan() {
    if !isCancelled { state = .appending }
  }

  mutating func appendEnded(now: Double) {
    guard !isCancelled else { return }
    state = .idle(0, isSaid: false)
    lastLook = now
  }

  /// The exporter was told to end.
  mutating func cancelled(now: Double) {
    guard !isCancelled else { return }
    state = .cancelled(0)
    lastLook = now
  }

  /// When to look next; nil while there is nothing to look for.
  var deadline: Double? {
    switch state {
    case .appending: nil
    case .cancelled(let spent): lastLook + min(Self.step, max(0, Self.grace - spent))
    case .idle(let spent, let isSaid):
      limit.seconds.map { lastLook + min(Self.step, max(0, (isSaid ? $0 : $0 / 2) - spent)) }
    }
  }

  /// What has to be done or said; nil if nothing has.
  ///
  /// - Parameter isStopped: whether the extension is stopped now, by a signal or by a debugger. The time since the last look
  ///   does not count then. One that is to end has no such excuse.
  mutating func look(now: Double, isStopped: Bool) -> Verdict? {
    let passed = min(max(0, now - lastLook), Self.longestStep)
    lastLook = max(lastLook, now)
    switch state {
    case .appending: return nil
    case .cancelled(let spent):
      state = .cancelled(spent + passed)
      return spent + passed >= Self.grace ? .ignoresCancellation : nil
    case .idle(let spent, let isSaid):
      guard let limit = limit.seconds else { return nil }
      let spent = isStopped ? spent : spent + passed
      let isHalf = spent >= limit / 2
      state = .idle(spent, isSaid: isSaid || isHalf)
      if spent >= limit { return .hung(limit) }
      return isHalf && !isSaid ? .quiet(limit / 2) : nil
    }
  }
}

extension ExportWatch {
  /// Seconds on a clock that stands still while the machine sleeps, as the extension does.
  static func now() -> Double { start.duration(to: SuspendingClock.now) / .seconds(1) }
  private static let start = SuspendingClock.now

  /// When to look next, on a clock that may be ahead of the watch's: then it is looked at once more.
  var wakeTime: BootInstant? {
    deadline.map { BootInstant.now().advanced(by: .seconds(max(0, $0 - Self.now()))) }
  }

  /// A time in words: "1 second", "2.5 seconds".
  static func words(_ seconds: Double) -> String {
    if seconds == 1 { return "1 second" }
    return seconds == seconds.rounded() ? "\(Int(seconds)) seconds" : "\(seconds) seconds"
  }
}
