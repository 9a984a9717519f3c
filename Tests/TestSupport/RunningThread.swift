package import MigrationSystem

/// A thread of a test, whose end is waited for with a deadline: at the latest when this goes, so that a test that ends by an
/// error leaves no thread behind. Whoever starts one that has to be told to end tells it before.
package final class RunningThread<Value: Sendable>: Sendable {
  private let outcome: Outcome<Value>
  private let thread: OwnerThread

  /// Starts the thread. The name is that of who runs on it, for whoever waits for its end in vain.
  package init(_ name: String, _ body: @escaping @Sendable () throws -> Value) throws {
    let outcome = Outcome<Value>(of: "the end of the thread '\(name)'")
    self.outcome = outcome
    thread = try OwnerThread(name: name) { outcome.set(Result { try body() }) }
  }

  deinit { _ = hasEnded() }

  /// Waits for the end of the thread, and returns or throws what its body did.
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
