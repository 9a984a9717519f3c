package import MigrationSystem

/// A result that one thread makes and others wait for, with a deadline.
package final class Outcome<Value: Sendable>: Sendable {
  private let awaited: String
  private let result = Condition<Result<Value, any Error>?>(nil)

  /// Says what is waited for, for whoever waits in vain.
  package init(of awaited: String) { self.awaited = awaited }

  /// The result is there.
  package func set(_ result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    self.result.broadcast()
  }

  /// The value is there.
  package func set(_ value: Value) { set(.success(value)) }

  /// Waits for the result; fails if that takes too long.
  package func wait(until deadline: BootInstant = soon()) throws -> Value {
    try result.wait(for: awaited, until: deadline) { $0 }.get()
  }

  /// Whether the result is there in time.
  package func isThere(by deadline: BootInstant = soon()) -> Bool {
    result.wait(until: deadline) { $0.map { _ in true } } ?? false
  }
}
