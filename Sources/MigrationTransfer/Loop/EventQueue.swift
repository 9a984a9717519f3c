import MigrationSystem

/// The workers' reports to a loop, in their order.
final class EventQueue<Event: Sendable>: Sendable {
  private struct State: Sendable {
    var events: [Event] = []
    /// Whether the loop has ended.
    var isClosed = false
  }

  /// The descriptor by which the loop's poll wakes up.
  let wakeup: Wakeup
  private let state = Mutex(State())

  init() throws(SystemError) { wakeup = try Wakeup() }

  /// Leaves an event for the loop, from any thread. Never blocks. After the loop's end, the event
  /// is released at once.
  func post(_ event: Event) {
    state.withLock { if !$0.isClosed { $0.events.append(event) } }
    wakeup.signal()
  }

  /// Takes everything that was left; the loop's thread calls it.
  func take() -> [Event] {
    wakeup.clear()
    return state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  /// The loop has ended: releases the remaining reports, and later ones. They hold locks and
  /// descriptors, which a late worker must not keep for as long as the queue lives.
  func close() {
    // Outside the lock, since that may wait for a disk.
    _ = state.withLock { state in
      defer { state = State(isClosed: true) }
      return state.events
    }
  }
}
