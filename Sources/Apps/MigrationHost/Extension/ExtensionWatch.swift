import MigrationSystem

/// Decides when an extension has to be killed: it is silent for too long, or does not end after a
/// cancellation.
///
/// The clock of the limit stops while an append is pending, for any time: neither a huge file nor a
/// network failure counts against the exporter. Time in which the extension did not run does not
/// count either: it was stopped, or this process was, or the machine slept. So the time between two
/// looks counts, up to `longestStep`: more time has passed only if this process did not run. Times
/// are seconds on any clock that never goes backward.
package struct ExtensionWatch: Equatable, Sendable {
  package enum Verdict: Equatable, Sendable {
    /// It has been silent for this many seconds, half of its limit. Reported once in each silence.
    case quiet(Double)
    /// It was silent for this many seconds.
    case hung(Double)
    /// It did not end after it was cancelled.
    case ignoresCancellation
  }

  private enum State: Equatable {
    /// Silent for this time, and whether that was reported.
    case idle(Double, isSaid: Bool)
    case appending
    /// Cancelled this long ago.
    case cancelled(Double)
  }

  /// The time that it may take to end after it was cancelled.
  static let grace: Double = 5
  /// The time that it may take to report its abilities, and the time without progress of an import after
  /// which a note is due.
  package static let (startLimit, quietImport) = (30.0, 30.0)
  /// The time that it may take to describe its export.
  package static let descriptionLimit: Double = 60
  /// The longest pause before the next look.
  package static let step: Double = 1
  /// The most time between two looks that counts.
  static let longestStep: Double = 1.5

  package let limit: IdleLimit
  private var state = State.idle(0, isSaid: false)
  private var lastLook: Double

  package init(limit: IdleLimit = .standard, now: Double) {
    self.limit = limit
    lastLook = now
  }

  package var isCancelled: Bool { if case .cancelled = state { true } else { false } }

  /// Whether a cancelled export may end like this: only with the cancellation, or complete if no
  /// append could report the cancellation.
  package static func isProperEnd(_ error: ReportedError?, hasThrown: Bool) -> Bool {
    guard let error else { return !hasThrown }
    return error.domain == ReportedError.cancellationDomain
  }

  /// Whether its silence counts.
  var isIdle: Bool { if case .idle = state { limit != .off } else { false } }

  package mutating func appendBegan() {
    if !isCancelled { state = .appending }
  }

  package mutating func appendEnded(now: Double) {
    guard !isCancelled else { return }
    state = .idle(0, isSaid: false)
    lastLook = now
  }

  /// Records that the exporter was told to end.
  package mutating func cancelled(now: Double) {
    guard !isCancelled else { return }
    state = .cancelled(0)
    lastLook = now
  }

  /// The time of the next look; nil while none is needed.
  package var deadline: Double? {
    switch state {
    case .appending: nil
    case .cancelled(let spent): lastLook + min(Self.step, max(0, Self.grace - spent))
    case .idle(let spent, let isSaid):
      limit.seconds.map { lastLook + min(Self.step, max(0, (isSaid ? $0 : $0 / 2) - spent)) }
    }
  }

  /// The action or message that is due; nil if there is none.
  ///
  /// - Parameter isStopped: whether the extension is stopped now, by a signal or by a debugger.
  ///   Then the time since the last look does not count, unless the extension was told to end.
  package mutating func look(now: Double, isStopped: Bool) -> Verdict? {
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

  /// Seconds on a clock that stops while the machine sleeps, as the extension does.
  package static func now() -> Double { start.duration(to: SuspendingClock.now) / .seconds(1) }
  private static let start = SuspendingClock.now

  /// The time of the next look, on a clock that may be ahead of the watch's: then an additional
  /// look follows.
  var wakeTime: BootInstant? {
    deadline.map { BootInstant.now().advanced(by: .seconds(max(0, $0 - Self.now()))) }
  }

  /// A time in words: "1 second", "2.5 seconds".
  package static func words(_ seconds: Double) -> String {
    if seconds == 1 { return "1 second" }
    return seconds == seconds.rounded() ? "\(Int(seconds)) seconds" : "\(seconds) seconds"
  }
}

/// For how long an exporter may append nothing.
package enum IdleLimit: Equatable, Sendable {
  case seconds(Double)
  /// Without limit: its author examines it with a debugger.
  case off

  /// The default limit.
  package static let standard = IdleLimit.seconds(20)

  /// The limit in seconds; nil for none.
  package var seconds: Double? { if case .seconds(let seconds) = self { seconds } else { nil } }
}
