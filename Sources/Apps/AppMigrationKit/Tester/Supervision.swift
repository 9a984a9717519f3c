internal import MigrationHost
internal import MigrationSystem

/// Runs an author's code in a test, and decides when a device would have ended it.
///
/// The tester cannot end code in this process. After the test has got its error the code continues
/// by itself, and its appends are refused.
final class Supervision: Sendable {
  /// The messages about silent code, with the time and the limit in words.
  struct Words: Sendable {
    let quiet: @Sendable (_ seconds: String, _ limit: String) -> String
    let hung: @Sendable (_ seconds: String) -> String

    /// The messages about an exporter.
    static let export = Words(
      quiet: { "the exporter has appended nothing for \($0); after \($1) a device ends it" },
      hung: { "The exporter appended nothing for \($0); a device ends it, and nothing arrives." })

    /// The messages about an exporter that describes its export.
    static let description = Words(
      quiet: { "the exporter has not returned its resourcesSizeEstimate for \($0); after \($1) a device ends it" },
      hung: { "The exporter did not return its resourcesSizeEstimate within \($0); a device ends it." })
  }

  private enum Outcome<Result: Sendable>: Sendable {
    case ended(Swift.Result<Result, any Error>)
    case given(up: ReportedError)
  }

  private struct State {
    var watch: ExtensionWatch
    /// The number of appends without an answer.
    var appends = 0
    /// Whether an append has thrown the cancellation.
    var hasThrown = false
    /// Whether the code has ended, or the test has got the error that a device would end it.
    var isOver = false
    /// Whether the test got that error before the code had ended.
    var isGivenUp = false
  }

  private let state: Mutex<State>
  private let words: Words

  /// Begins to watch.
  init(limit: IdleLimit, _ words: Words) {
    state = Mutex(State(watch: ExtensionWatch(limit: limit, now: ExtensionWatch.now())))
    self.words = words
  }

  /// Whether the current item is no longer needed.
  var isUnwanted: Bool { state.withLock { $0.isGivenUp || $0.watch.isCancelled } }

  /// Whether the test's task was cancelled.
  var isBrokenOff: Bool { state.withLock { $0.watch.isCancelled } }

  /// Throws once the test no longer needs the export.
  func refuseIfCancelled() throws {
    try state.withLock { state in
      guard state.isOver || state.watch.isCancelled else { return }
      state.hasThrown = true
      throw CancellationError()
    }
  }

  /// Records the beginning of an append.
  func begin() {
    state.withLock { state in
      state.appends += 1
      state.watch.appendBegan()
    }
  }

  /// Records the end of an append.
  func end() {
    state.withLock { state in
      state.appends -= 1
      if state.appends == 0 { state.watch.appendEnded(now: ExtensionWatch.now()) }
    }
  }

  /// The error for an export that ended with an error, or without one, after it was cancelled: the
  /// cancellation, or the fault that it was not rethrown. Nil if it was not cancelled.
  func judgement(of error: (any Error)?) -> ReportedError? {
    state.withLock { state in
      guard state.watch.isCancelled else { return nil }
      return ExtensionWatch.isProperEnd(error.map { ReportedError($0) }, hasThrown: state.hasThrown)
        ? .cancelled : .swallowedCancellation
    }
  }

  /// Runs some code until it ends, or until a device would have ended it; then it throws that
  /// error.
  func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
    let (outcomes, news) = AsyncStream.makeStream(of: Outcome<Result>.self)
    let work = Task(executorPreference: BlockingExecutor.shared) {
      let outcome: Outcome<Result>
      do {
        outcome = .ended(.success(try await body()))
      } catch {
        outcome = .ended(.failure(error))
      }
      // The test may learn of it late, if other tests block all threads.
      self.state.withLock { $0.isOver = true }
      news.yield(outcome)
    }
    let watch = Task(executorPreference: BlockingExecutor.shared) {
      if let fault = await self.watch() { news.yield(.given(up: fault)) }
    }
    // A separate task, since a cancelled task receives no further outcomes.
    let first = Task(executorPreference: BlockingExecutor.shared) { () -> Outcome<Result>? in
      for await outcome in outcomes { return outcome }
      return nil
    }
    let outcome = await withTaskCancellationHandler {
      await first.value
    } onCancel: {
      self.state.withLock { $0.watch.cancelled(now: ExtensionWatch.now()) }
      work.cancel()
    }
    watch.cancel()
    state.withLock { $0.isOver = true }
    switch outcome {
    case .ended(let result): return try result.get()
    case .given(let fault):
      state.withLock { $0.isGivenUp = true }
      work.cancel()
      throw fault.thrownError
    case nil: throw CancellationError()
    }
  }

  /// The seconds until the next look.
  private var pause: Double {
    max(0, min(ExtensionWatch.step, (state.withLock { $0.watch.deadline } ?? .infinity) - ExtensionWatch.now()))
  }

  /// The error for code that a device would end; nil if the watch ends first.
  private func watch() async -> ReportedError? {
    while (try? await Task.sleep(for: .seconds(pause))) != nil {
      // Time in which this process was stopped, such as at a breakpoint, does not count.
      switch state.withLock({ $0.isOver ? nil : $0.watch.look(now: ExtensionWatch.now(), isStopped: false) }) {
      case nil: continue
      case .quiet(let seconds):
        let limit = state.withLock { $0.watch.limit.seconds.map(ExtensionWatch.words) } ?? ""
        AppMigrationTester.tellAuthor(words.quiet(ExtensionWatch.words(seconds), limit))
      case .hung(let seconds): return .fault(words.hung(ExtensionWatch.words(seconds)))
      case .ignoresCancellation: return .swallowedCancellation
      }
    }
    return nil
  }
}
