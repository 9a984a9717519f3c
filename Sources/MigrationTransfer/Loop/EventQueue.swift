import MigrationSystem

/// The workers' reports to a loop, in their order.
final class EventQueue<Event: Sendable>: Sendable {
  /// The descriptor by which the loop's poll wakes up.
  let wakeup: Wakeup
  private let events = Mutex<[Event]>([])

  init() throws(SystemError) { wakeup = try Wakeup() }

  /// Leaves an event for the loop, from any thread. Never blocks.
  func post(_ event: Event) {
    events.withLock { $0.append(event) }
    wakeup.signal()
  }

  /// Takes everything that was left; the loop's thread calls it.
  func take() -> [Event] {
    wakeup.clear()
    return events.withLock { events in
      defer { events = [] }
      return events
    }
  }
}
