import MigrationEngine
import MigrationSystem
import MigrationWire

/// Stands between the loop and the thread that has called the sender: that thread asks for the code, and waits for the end.
final class SenderCaller: Sendable {
  /// What the caller's thread does next.
  enum Task {
    case askCode(DeviceAddress)
    /// Beside the loop, so many workers still go on and are left to it.
    case end(Result<TransferResult, TransferFailure>, leaving: Int)
  }

  private struct State: Sendable {
    /// The device whose code is wanted.
    var asked: DeviceAddress?
    var end: Task?
  }

  /// Signalled when the code is not wanted any more: it ends the wait for the user.
  let unasked: Wakeup
  private let state = Condition(State())

  init() throws(SystemError) { unasked = try Wakeup() }

  /// The code is wanted that a device shows.
  func askCode(at device: DeviceAddress) {
    state.withLock { $0.asked = device }
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
      guard let device = state.asked else { return nil }
      state.asked = nil
      return .askCode(device)
    }
    guard let task else { preconditionFailure("a wait without a deadline gives something") }
    return task
  }
}
