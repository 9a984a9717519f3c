/// Watches an exporter that runs in a test's own process, by the rules for one that runs in a process of its own.
///
/// Nothing can be killed there; the test is told instead what would have been done.
package struct TestedExport: Sendable {
  private var watch: ExportWatch
  /// How many appends have not been answered.
  private var appends = 0
  /// Whether an append has thrown the cancellation.
  private var hasThrown = false

  /// Begins to watch, now.
  package init(limit: IdleLimit) { watch = ExportWatch(limit: limit, now: ExportWatch.now()) }

  /// For so long a test's extension may describe its export.
  package static func descriptionLimit(_ limit: IdleLimit) -> IdleLimit {
    limit == .off ? .off : .seconds(ExportWatch.descriptionLimit)
  }

  package var isCancelled: Bool { watch.isCancelled }

  package mutating func appendBegan() {
    appends += 1
    watch.appendBegan()
  }

  package mutating func appendEnded() {
    appends -= 1
    if appends == 0 { watch.appendEnded(now: ExportWatch.now()) }
  }

  /// The export is to end.
  package mutating func cancel() { watch.cancelled(now: ExportWatch.now()) }

  /// An append throws the cancellation.
  package mutating func throwsCancellation() { hasThrown = true }

  /// In how many seconds to look next.
  package var pause: Double {
    max(0, min(ExportWatch.step, (watch.deadline ?? .infinity) - ExportWatch.now()))
  }

  /// What has to be said or done.
  package enum Verdict: Sendable {
    /// It has been silent for half of what it may be, in seconds.
    case quiet(seconds: String, limit: String)
    /// It was silent for too long.
    case hung(seconds: String)
    /// It did not end after it was cancelled.
    case ignoresCancellation
  }

  /// Looks at the watch. Time in which this process was stopped, as at a breakpoint, does not count.
  package mutating func look() -> Verdict? {
    switch watch.look(now: ExportWatch.now(), isStopped: false) {
    case nil: nil
    case .quiet(let seconds):
      .quiet(seconds: ExportWatch.words(seconds), limit: watch.limit.seconds.map(ExportWatch.words) ?? "")
    case .hung(let seconds): .hung(seconds: ExportWatch.words(seconds))
    case .ignoresCancellation: .ignoresCancellation
    }
  }

  /// What is said of an export that ended by an error, or by none, after it was cancelled: the cancellation, or that it did not
  /// let it pass. Nil where it was not cancelled.
  package func judgement(of error: ReportedError?) -> ReportedError? {
    guard isCancelled else { return nil }
    return CancelledExport.isProperEnd(error, hasThrown: hasThrown) ? .cancelled : .swallowedCancellation
  }
}

/// How an export that was cancelled may end.
enum CancelledExport {
  /// Only by the cancellation, or as a whole where no append could say that there was one.
  static func isProperEnd(_ error: ReportedError?, hasThrown: Bool) -> Bool {
    guard let error else { return !hasThrown }
    return error.domain == ReportedError.cancellationDomain
  }
}

extension ReportedError {
  /// What a test is told of an extension that a device would have refused or ended; a sentence.
  package static func fault(_ sentence: String) -> ReportedError {
    ReportedError(domain: systemDomain, code: 4, text: sentence)
  }
}
