import MigrationSystem

/// Measures a duration, without the time for which a busy machine does not run this process.
///
/// It ticks, and each tick counts with its nominal length, or a little more: the rest is time in
/// which this process could not run. So it never shows more than the elapsed time, and less if the
/// difference says nothing about the program.
package final class Stopwatch: Sendable {
  private static let tick = Duration.milliseconds(10)
  private static let longestTick = 0.02

  private struct State: Sendable {
    var seconds = 0.0
    var isStopped = false
  }

  private let state: Condition<State>
  private let thread: RunningThread<Void>

  /// Starts measuring.
  package init() throws {
    let state = Condition(State())
    self.state = state
    thread = try RunningThread("stopwatch") {
      var last = BootInstant.now()
      while state.wait(until: last.advanced(by: Self.tick), { $0.isStopped ? true : nil }) == nil {
        let now = BootInstant.now()
        state.withLock { $0.seconds += min(now.seconds(since: last), Self.longestTick) }
        last = now
      }
    }
  }

  deinit {
    state.withLock { $0.isStopped = true }
    state.broadcast()
  }

  /// The seconds measured so far.
  package var seconds: Double { state.withLock { $0.seconds } }
}
