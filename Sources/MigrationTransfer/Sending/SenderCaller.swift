import MigrationEngine
import MigrationSystem
import MigrationWire

/// Connects the loop with the thread that has called the sender, which asks the user and waits for
/// the end.
final class SenderCaller: Sendable {
  /// The next step of the caller's thread.
  enum Task {
    case askCode(DeviceAddress)
    case choose([DeviceAddress])
    /// The run has ended, and this number of workers still runs.
    case end(TransferOutcome, leaving: Int)
  }

  private struct State: Sendable {
    /// The question for the user.
    var question: Task?
    var end: Task?
  }

  /// Ends the wait for the user when the question is withdrawn.
  let unasked: Wakeup
  private let state = Condition(State())

  init() throws(SystemError) { unasked = try Wakeup() }

  /// Asks for the code that a device shows, or for one of several devices.
  func ask(_ question: Task) {
    state.withLock { $0.question = question }
    state.signal()
  }

  /// Withdraws the question.
  func stopAsking() { unasked.signal() }

  /// Reports the end of the run, and how many workers still run. The first result counts.
  func finish(_ result: TransferOutcome, leaving workers: Int) {
    state.withLock { $0.end = $0.end ?? .end(result, leaving: workers) }
    state.signal()
  }

  /// Waits for the next task.
  func next() -> Task {
    let task = state.wait { state -> Task? in
      if let end = state.end { return end }
      defer { state.question = nil }
      return state.question
    }
    guard let task else { preconditionFailure("a wait without a deadline gives something") }
    return task
  }
}
