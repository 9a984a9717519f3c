import MigrationEngine
import MigrationSystem
import MigrationWire

/// Stands between the loop and the thread that has called the sender: that thread asks for the code
/// and for a choice, and waits for the end.
final class SenderCaller: Sendable {
  /// The next step of the caller's thread.
  enum Task {
    case askCode(DeviceAddress)
    case choose([DeviceAddress])
    /// So many workers still run beside the loop, which keeps them.
    case end(Result<TransferResult, TransferFailure>, leaving: Int)
  }

  private struct State: Sendable {
    /// The question for the user.
    var question: Task?
    var end: Task?
  }

  /// Signalled when no answer is wanted any more: it ends the wait for the user.
  let unasked: Wakeup
  private let state = Condition(State())

  init() throws(SystemError) { unasked = try Wakeup() }

  /// The code is wanted that a device shows.
  func askCode(at device: DeviceAddress) { ask(.askCode(device)) }

  /// It is to be known which of these is meant.
  func choose(among found: [DeviceAddress]) { ask(.choose(found)) }

  private func ask(_ question: Task) {
    state.withLock { $0.question = question }
    state.signal()
  }

  /// No answer is wanted any more.
  func stopAsking() { unasked.signal() }

  /// The run has ended; so many workers still run. The first result counts.
  func finish(_ result: Result<TransferResult, TransferFailure>, leaving workers: Int) {
    state.withLock { $0.end = $0.end ?? .end(result, leaving: workers) }
    state.signal()
  }

  /// Waits for something to do.
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
