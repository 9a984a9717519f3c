import MigrationSystem

/// Threads that come and go, and that somebody waits for at the end.
final class ThreadGroup: Sendable {
  private let running = Condition(0)

  /// Runs `body` on a thread of its own.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    running.withLock { $0 += 1 }
    do {
      // Nobody joins it: it is counted instead, so that finished threads leave nothing behind.
      _ = try OwnerThread(name: name) { [self] in
        body()
        finish()
      }
    } catch {
      finish()
      throw error
    }
  }

  /// Returns once all threads have ended.
  func wait() {
    _ = running.wait { $0 == 0 ? true : nil }
  }

  private func finish() {
    running.withLock { $0 -= 1 }
    running.broadcast()
  }
}
