import MigrationEngine
import MigrationSystem
import MigrationTLS
import Synchronization

/// One run of a transfer, on a thread of its own: the task that waits for it ends it by being cancelled.
final class Running: Sendable {
  private struct State: Sendable {
    var hasBegun = false
    var isStopped = false
    /// What ends it.
    var stop: (@Sendable () -> Void)?
  }

  let buffer = EventBuffer()
  private let state = Mutex(State())

  deinit {
    // What was never performed has no end, and its reader waits no longer.
    buffer.close()
  }

  /// Performs the run, which blocks, and waits for its end. Once.
  func perform(
    _ name: String, _ body: @escaping @Sendable (Running) throws(TransferFailure) -> TransferResult
  ) async throws(PeerError) -> PeerResult {
    let isFirst = state.withLock { state in
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
    guard isFirst else {
      throw PeerError(.usage, "this transfer was run already", hint: "Make another one for another transfer.")
    }
    ProcessExit.leaveThreadsTheirTables()
    let result = await withTaskCancellationHandler {
      await blocking(name) { [self] () throws(TransferFailure) in
        // What ends the run holds locks for as long as it lives.
        defer { state.withLock { $0.stop = nil } }
        return try body(self)
      }
    } onCancel: {
      stop()
    }
    return try buffer.close(result).get()
  }

  /// From now on this is what ends the run; at once, if it is to end already.
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

/// Does what blocks on a thread of its own, and waits for it as tasks wait.
func blocking<Value: Sendable>(
  _ name: String, _ body: @escaping @Sendable () throws(TransferFailure) -> Value
) async -> Result<Value, TransferFailure> {
  await withCheckedContinuation { continuation in
    do throws(SystemError) {
      _ = try OwnerThread(name: name) {
        let result: Result<Value, TransferFailure>
        do throws(TransferFailure) { result = .success(try body()) } catch { result = .failure(error) }
        continuation.resume(returning: result)
      }
    } catch {
      continuation.resume(returning: .failure(TransferFailure(.failed, error.description)))
    }
  }
}

/// Asks the program something that it answers as a task, on a thread that may wait; nil once one of the descriptors says that the
/// answer is not wanted any more. The task is cancelled then, and not waited for.
func answer<Answer: Sendable>(
  unless ends: [CInt], at priority: TaskPriority, _ question: @escaping @Sendable () async -> Answer
) throws(TransferFailure) -> Answer? {
  let given = Given<Answer>()
  do throws(SystemError) {
    let wakeup = try Wakeup()
    let task = Task.detached(priority: priority) {
      let answer = await question()
      given.answer.withLock { $0 = answer }
      wakeup.signal()
    }
    defer { task.cancel() }
    var poller = try Poller()
    var interests = ([wakeup.raw] + ends).map { Poller.Interest($0, .readable) }
    _ = try poller.wait(&interests, until: nil)
    return given.answer.withLock { $0 }
  } catch {
    throw TransferFailure(.failed, error.description)
  }
}

/// Where a task leaves its answer.
private final class Given<Answer: Sendable>: Sendable {
  let answer = Mutex<Answer?>(nil)
}
