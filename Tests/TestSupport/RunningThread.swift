package import MigrationSystem

/// A thread of a test with a deadline for its end. The deadline is at the latest when this object
/// is deallocated, so that a test that ends with an error leaves no thread behind. A test stops its
/// thread before that if the thread does not end by itself.
package final class RunningThread<Value: Sendable>: Sendable {
  private let outcome: Outcome<Value>
  private let thread: OwnerThread

  /// Starts the thread. The name appears in the error of a wait that times out.
  package init(_ name: String, _ body: @escaping @Sendable () throws -> Value) throws {
    let outcome = Outcome<Value>(of: "the end of the thread '\(name)'")
    self.outcome = outcome
    thread = try OwnerThread(name: name) { outcome.set(Result { try body() }) }
  }

  deinit { _ = hasEnded() }

  /// Waits for the end of the thread, and returns or throws the result of its body.
  @discardableResult
  package func value(until deadline: BootInstant = soon()) throws -> Value {
    _ = hasEnded(by: deadline)
    return try outcome.wait(until: .now())
  }

  /// Whether it ends in time; then nothing of it is left.
  package func hasEnded(by deadline: BootInstant = soon()) -> Bool {
    guard outcome.isThere(by: deadline) else { return false }
    thread.join()
    return true
  }
}
