import MigrationSystem

/// Measures how long something takes, without the time for which a busy machine does not let this process run.
///
/// It ticks, and each tick counts as what it should have taken, or a little more: what is missing then is time in which
/// nothing could have been done. So it never shows more than has passed, and less where that says nothing about the program.
package final class Stopwatch: Sendable {
  private static let tick = Duration.milliseconds(10)
  private static let longestTick = 0.02

  private struct State: Sendable {
    var seconds = 0.0
    var isStopped = false
  }

  private let state: Condition<State>
  private let thread: RunningThread<Void>

  /// Starts to measure.
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

  /// How many seconds it has measured.
  package var seconds: Double { state.withLock { $0.seconds } }
}
