package import MigrationSystem

/// How long a test waits for what happens soon unless something is broken, in seconds. It is long, since the machine may be
/// busy with other things, and since only a test that fails waits for all of it.
package let patience = 60

/// When a test gives up waiting for something.
package func soon() -> BootInstant { .now() + .seconds(patience) }

/// A wait that was in vain.
package struct TookTooLong: Error, CustomStringConvertible {
  private let awaited: String

  /// Says what was waited for: a noun, or a clause that begins with "that".
  package init(_ awaited: String) { self.awaited = awaited }

  package var description: String { "waited in vain for \(awaited)" }
}

extension Condition {
  /// What `body` finds in the state, now or after a change; fails if that takes too long.
  package func wait<Value>(
    for awaited: String, until deadline: BootInstant = soon(), _ body: (inout State) -> Value?
  ) throws(TookTooLong) -> Value {
    guard let value = wait(until: deadline, body) else { throw TookTooLong(awaited) }
    return value
  }
}
