package import MigrationSystem

/// A result that one thread produces and others wait for, with a deadline.
package final class Outcome<Value: Sendable>: Sendable {
  private let awaited: String
  private let result = Condition<Result<Value, any Error>?>(nil)

  /// Names the awaited result, for a wait that times out.
  package init(of awaited: String) { self.awaited = awaited }

  /// Sets the result.
  package func set(_ result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    self.result.broadcast()
  }

  /// Sets the value.
  package func set(_ value: Value) { set(.success(value)) }

  /// Waits for the result; fails if that takes too long.
  package func wait(until deadline: BootInstant = soon()) throws -> Value {
    try result.wait(for: awaited, until: deadline) { $0 }.get()
  }

  /// Whether the result arrives in time.
  package func isThere(by deadline: BootInstant = soon()) -> Bool {
    result.wait(until: deadline) { $0.map { _ in true } } ?? false
  }
}
