import MigrationSystem

/// A result that one thread makes and another waits for.
final class Promise<Value: Sendable>: Sendable {
  private let result = Condition<Result<Value, any Error>?>(nil)

  /// The result is there.
  func fulfil(_ result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    self.result.broadcast()
  }

  /// Waits for the result.
  func wait() throws -> Value {
    guard let result = result.wait({ $0 }) else { preconditionFailure("a wait without a deadline has a result") }
    return try result.get()
  }
}
