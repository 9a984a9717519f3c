import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

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

  /// Adds an event, from any thread. Never blocks. After the loop's end, the event is released at
  /// once.
  func post(_ event: Event) {
    state.withLock { if !$0.isClosed { $0.events.append(event) } }
    wakeup.signal()
  }

  /// Removes and returns all events; the loop's thread calls it.
  func take() -> [Event] {
    wakeup.clear()
    return state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  /// The loop has ended: releases the remaining reports, and later reports. Reports hold locks and
  /// descriptors, which must not live as long as the queue.
  func close() {
    // Outside the lock, since that may wait for a disk.
    _ = state.withLock { state in
      defer { state = State(isClosed: true) }
      return state.events
    }
  }
}

/// The threads that a loop has started for its workers, counted until they end.
final class Workers: Sendable {
  private let running = Condition(0)

  /// Runs `body` on a thread of its own.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    running.withLock { $0 += 1 }
    do {
      // It is counted instead of joined, so that finished threads leave nothing behind.
      _ = try OwnerThread(name: name) { [self] in
        body()
        finish()
      }
    } catch {
      finish()
      throw error
    }
  }

  /// Starts a worker. If its work throws, `end` gives its report.
  func start<Event, Product>(
    _ worker: Worker<Event, Product>, reportingTo queue: EventQueue<Report<Event, Product>>,
    failing end: @escaping @Sendable (Failure) -> Report<Event, Product>?
  ) throws(SystemError) {
    let work = Handover(worker.work)
    try start(worker.name) {
      if let report = Self.run(work, failing: end) { queue.post(report) }
    }
  }

  /// Does the work, and releases everything that it holds.
  private static func run<Event, Product>(
    _ work: Handover<Worker<Event, Product>.Work>, failing end: (Failure) -> Report<Event, Product>?
  ) -> Report<Event, Product>? {
    let work = work.take()
    do {
      return try work()
    } catch {
      return end(Failure(error))
    }
  }

  /// Waits until at most `stuck` workers are left, or until the deadline. Returns whether the others
  /// have ended. The loop's thread does not call it.
  @discardableResult
  func wait(until deadline: BootInstant? = nil, leaving stuck: Int = 0) -> Bool {
    running.wait(until: deadline) { $0 <= stuck ? true : nil } ?? false
  }

  private func finish() {
    running.withLock { $0 -= 1 }
    running.broadcast()
  }
}
