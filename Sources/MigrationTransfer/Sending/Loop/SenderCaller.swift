import MigrationEngine
import MigrationSystem
import MigrationWire

/// Stands between the loop and the thread that has called the sender: that thread asks for the code, and waits for the end.
final class SenderCaller: Sendable {
  /// What the caller's thread does next.
  enum Task {
    case askCode
    /// Beside the loop, so many workers still go on and are left to it.
    case end(Result<TransferResult, TransferFailure>, leaving: Int)
  }

  private struct State: Sendable {
    var isCodeWanted = false
    var end: Task?
  }

  /// Signalled when the code is not wanted any more: it ends the wait for the user.
  let unasked: Wakeup
  private let state = Condition(State())

  init() throws(SystemError) { unasked = try Wakeup() }

  /// The code is wanted.
  func askCode() {
    state.withLock { $0.isCodeWanted = true }
    state.signal()
  }

  /// The code is not wanted any more.
  func stopAsking() { unasked.signal() }

  /// The run is over; so many workers still go on. The first result counts.
  func finish(_ result: Result<TransferResult, TransferFailure>, leaving workers: Int) {
    state.withLock { $0.end = $0.end ?? .end(result, leaving: workers) }
    state.signal()
  }

  /// Waits for something to do.
  func next() -> Task {
    let task = state.wait { state -> Task? in
      if let end = state.end { return end }
      guard state.isCodeWanted else { return nil }
      state.isCodeWanted = false
      return .askCode
    }
    guard let task else { preconditionFailure("a wait without a deadline gives something") }
    return task
  }
}
