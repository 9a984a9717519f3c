import MigrationSystem

/// The threads that a loop has started for what blocks, counted until they end.
final class Workers: Sendable {
  private let running = Condition(0)

  /// Runs `body` on a thread of its own.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    running.withLock { $0 += 1 }
    do {
      // It is counted instead of joined, so that finished threads leave nothing behind.
      _ = try OwnerThread(name: name) { [self] in
        body()
        finish()
      }
    } catch {
      finish()
      throw error
    }
  }

  /// Waits until only so many workers are left or the deadline has come. Returns whether the others
  /// have ended. The loop's thread does not call it.
  @discardableResult
  func wait(until deadline: BootInstant? = nil, leaving stuck: Int = 0) -> Bool {
    running.wait(until: deadline) { $0 <= stuck ? true : nil } ?? false
  }

  private func finish() {
    running.withLock { $0 -= 1 }
    running.broadcast()
  }
}
