import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// One run of a transfer, on its own thread. Cancelling the task that waits for it ends the run.
final class TransferThread: Sendable {
  private struct State: Sendable {
    var hasBegun = false
    var isStopped = false
    /// Ends the run.
    var stop: (@Sendable () -> Void)?
  }

  let buffer = EventBuffer()
  private let state = Mutex(State())

  deinit {
    // A transfer without a run has no end; this ends its reader's wait.
    buffer.close()
  }

  /// Performs the blocking run, and waits for its end. Once.
  func perform(
    _ name: String, _ body: @escaping @Sendable (TransferThread) throws(Failure) -> TransferResult
  ) async throws(PeerError) -> PeerResult {
    let isFirst = state.withLock { state in
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
    guard isFirst else {
      throw PeerError(.usage, "this transfer has already run", hint: "Create a new object for another transfer.")
    }
    let result = await withTaskCancellationHandler {
      await blocking(name) { [self] () throws(Failure) in
        // The function that ends the run holds locks while it lives.
        defer { state.withLock { $0.stop = nil } }
        return try body(self)
      }
    } onCancel: {
      stop()
    }
    return try buffer.close(result).get()
  }

  /// Sets the function that ends the run, and calls it at once if the run is to end already.
  func stopping(by stop: @escaping @Sendable () -> Void) {
    let isStopped = state.withLock { state in
      state.stop = stop
      return state.isStopped
    }
    if isStopped { stop() }
  }

  private func stop() {
    let stop = state.withLock { state in
      state.isStopped = true
      return state.stop
    }
    stop?()
  }
}

/// Runs blocking work on its own thread, and waits for it as a task.
func blocking<Value: Sendable>(
  _ name: String, _ body: @escaping @Sendable () throws(Failure) -> Value
) async -> Result<Value, Failure> {
  await withCheckedContinuation { continuation in
    do throws(SystemError) {
      _ = try OwnerThread(name: name) {
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
        continuation.resume(returning: result)
      }
    } catch {
      continuation.resume(returning: .failure(Failure(error)))
    }
  }
}

/// Asks the program a question that a task answers, on a thread that may wait; nil when the
/// descriptor signals that the answer is no longer wanted. The task is then cancelled, without a
/// wait for its end.
func answer<Answer: Sendable>(
  until end: CInt, at priority: TaskPriority, _ question: @escaping @Sendable () async -> Answer
) throws(Failure) -> Answer? {
  let given = Condition<Answer?>(nil)
  do throws(SystemError) {
    let wakeup = try Wakeup()
    let task = Task.detached(priority: priority) {
      let answer = await question()
      given.withLock { $0 = answer }
      wakeup.signal()
    }
    defer { task.cancel() }
    var poller = try Poller()
    var interests = [wakeup.raw, end].map { Poller.Interest($0, .readable) }
    _ = try poller.wait(&interests, until: nil)
    return given.withLock { $0 }
  } catch {
    throw Failure(error)
  }
}
