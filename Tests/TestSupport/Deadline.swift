package import MigrationSystem

/// How long a test waits for an event that happens soon unless something is broken, in seconds. The
/// time is long because the machine may be busy, and because only a failing test waits for all of
/// it.
package let patience = 60

/// The time at which a test stops waiting.
package func soon() -> BootInstant { .now() + .seconds(patience) }

/// A wait that timed out.
package struct TookTooLong: Error, CustomStringConvertible {
  private let awaited: String

  /// Names the awaited event: a noun, or a clause that begins with "that".
  package init(_ awaited: String) { self.awaited = awaited }

  package var description: String { "timed out waiting for \(awaited)" }
}

extension Condition {
  /// The result of `body` on the state, now or after a change; fails if that takes too long.
  package func wait<Value>(
    for awaited: String, until deadline: BootInstant = soon(), _ body: (inout State) -> Value?
  ) throws(TookTooLong) -> Value {
    guard let value = wait(until: deadline, body) else { throw TookTooLong(awaited) }
    return value
  }
}
