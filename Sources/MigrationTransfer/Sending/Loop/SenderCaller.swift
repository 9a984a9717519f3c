import MigrationEngine
import MigrationSystem
import MigrationWire

/// Stands between the loop and the thread that has called the sender: that thread asks for the code, and waits for the end.
final class SenderCaller: Sendable {
  /// What the caller's thread does next.
  enum Task {
    case askCode
    case end(Result<TransferResult, TransferFailure>)
  }

  private struct State: Sendable {
    var isCodeWanted = false
    var result: Result<TransferResult, TransferFailure>?
    /// When workers are waited for no longer; nil until that is known.
    var curfew: BootInstant?
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

  /// The run is over. The first result counts.
  func finish(_ result: Result<TransferResult, TransferFailure>) {
    state.withLock { $0.result = $0.result ?? result }
    state.signal()
  }

  /// The run ends: from a moment on workers are waited for no longer. The first one counts; which that is.
  @discardableResult
  func endWaiting(at moment: BootInstant) -> BootInstant {
    state.withLock { state in
      let first = state.curfew ?? moment
      state.curfew = first
      return first
    }
  }

  /// Waits for something to do.
  func next() -> Task {
    let task = state.wait { state -> Task? in
      if let result = state.result { return .end(result) }
      guard state.isCodeWanted else { return nil }
      state.isCodeWanted = false
      return .askCode
    }
    guard let task else { preconditionFailure("a wait without a deadline gives something") }
    return task
  }
}
