/// Watches an exporter that runs in a test's own process, by the rules for a separate process.
///
/// Nothing can be killed there; the test learns the action that a device would have taken.
package struct TestedExport: Sendable {
  private var watch: ExportWatch
  /// The number of appends without an answer.
  private var appends = 0
  /// Whether an append has thrown the cancellation.
  private var hasThrown = false

  /// Starts watching.
  package init(limit: IdleLimit) { watch = ExportWatch(limit: limit, now: ExportWatch.now()) }

  /// How long a test's extension may take to describe its export.
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

  /// Records that the export is to end.
  package mutating func cancel() { watch.cancelled(now: ExportWatch.now()) }

  /// Records that an append throws the cancellation.
  package mutating func throwsCancellation() { hasThrown = true }

  /// The seconds until the next look.
  package var pause: Double {
    max(0, min(ExportWatch.step, (watch.deadline ?? .infinity) - ExportWatch.now()))
  }

  /// The message or action that is due.
  package enum Verdict: Sendable {
    /// It has been silent for half of its limit, in seconds.
    case quiet(seconds: String, limit: String)
    /// It was silent for too long.
    case hung(seconds: String)
    /// It did not end after it was cancelled.
    case ignoresCancellation
  }

  /// Checks the watch. Time in which this process was stopped, such as at a breakpoint, does not
  /// count.
  package mutating func look() -> Verdict? {
    switch watch.look(now: ExportWatch.now(), isStopped: false) {
    case nil: nil
    case .quiet(let seconds):
      .quiet(seconds: ExportWatch.words(seconds), limit: watch.limit.seconds.map(ExportWatch.words) ?? "")
    case .hung(let seconds): .hung(seconds: ExportWatch.words(seconds))
    case .ignoresCancellation: .ignoresCancellation
    }
  }

  /// The error for an export that ended with an error, or without one, after it was cancelled: the
  /// cancellation, or the fault that it was not rethrown. Nil if it was not cancelled.
  package func judgement(of error: ReportedError?) -> ReportedError? {
    guard isCancelled else { return nil }
    return CancelledExport.isProperEnd(error, hasThrown: hasThrown) ? .cancelled : .swallowedCancellation
  }
}

/// How a cancelled export may end.
enum CancelledExport {
  /// Only with the cancellation, or complete if no append could report the cancellation.
  static func isProperEnd(_ error: ReportedError?, hasThrown: Bool) -> Bool {
    guard let error else { return !hasThrown }
    return error.domain == ReportedError.cancellationDomain
  }
}

extension ReportedError {
  /// A test's error for an extension that a device would have refused or ended; a sentence.
  package static func fault(_ sentence: String) -> ReportedError {
    ReportedError(domain: systemDomain, code: 4, text: sentence)
  }
}
