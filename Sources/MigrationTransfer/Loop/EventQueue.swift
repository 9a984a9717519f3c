import MigrationSystem
import Synchronization

/// What workers have to tell a loop, in the order in which they told it.
final class EventQueue<Event: Sendable>: Sendable {
  /// What the loop waits for among its descriptors.
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
