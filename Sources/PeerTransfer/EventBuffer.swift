import MigrationEngine
import MigrationSystem

/// The events of a transfer that its reader has not taken yet, in a bounded number of bytes.
///
/// A thread that adds an event never waits. Unread events cost only the backlog's memory: the
/// latest progress waits, and events that do not fit are counted.
final class EventBuffer: Sendable {
  private struct State: Sendable {
    var backlog = EventBacklog()
    /// The items of all events of the transfer, including events that did not fit.
    var unsent = NotStoredList()
    /// Whether the last event was the end of a transfer.
    var isAtEnd = false
    /// Whether that transfer is one of many, so that the end of all is a separate event.
    var isOneOfMany = false
    /// Whether no more events come.
    var isClosed = false
    /// The readers that wait for an event, in their order.
    var readers: [Reader] = []
    var lastReader: UInt64 = 0
  }

  private struct Reader: Sendable {
    let number: UInt64
    let continuation: CheckedContinuation<PeerEvent?, Never>
  }

  private let state = Mutex(State())

  /// Adds an event; returns at once.
  func add(_ event: TransferEvent) {
    tell { state in
      guard !state.isClosed else { return }
      // A receiver that stays open starts afresh.
      if state.isAtEnd { state.unsent = NotStoredList() }
      state.unsent.note(event)
      var isComplete = true
      switch event {
      case .done(let result): (state.isAtEnd, isComplete) = (true, state.unsent.isComplete(result))
      case .failed: state.isAtEnd = true
      default: state.isAtEnd = false
      }
      state.backlog.add(event, isComplete: isComplete)
    }
  }

  /// Expects many transfers: the end of one is not the end of all.
  func expectMany() { state.withLock { $0.isOneOfMany = true } }

  /// Ends the events without a result.
  func close() { tell { $0.isClosed = true } }

  /// Ends the events with a result, unless an event has reported it already. Returns the result.
  func close(_ result: TransferOutcome) -> Result<PeerResult, PeerError> {
    tell { state in
      let isTold = state.isAtEnd && !state.isOneOfMany
      state.isClosed = true
      switch result {
      case .success(let done):
        let isComplete = state.unsent.isComplete(done)
        if !isTold { state.backlog.add(.done(done), isComplete: isComplete) }
        return .success(PeerResult(done, isComplete: isComplete))
      case .failure(let failure):
        if !isTold { state.backlog.add(.failed(failure)) }
        return .failure(PeerError(failure))
      }
    }
  }

  /// Waits for an event; nil at the end, and if the reader's task is cancelled.
  func next() async -> PeerEvent? {
    let number = state.withLock { state in
      state.lastReader += 1
      return state.lastReader
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        tell { state in
          // A cancellation before this found no reader.
          if Task.isCancelled { return continuation.resume(returning: nil) }
          state.readers.append(Reader(number: number, continuation: continuation))
        }
      }
    } onCancel: {
      let reader = state.withLock { state in
        state.readers.firstIndex { $0.number == number }.map { state.readers.remove(at: $0) }
      }
      reader?.continuation.resume(returning: nil)
    }
  }

  /// Changes the state, and gives waiting readers their events.
  private func tell<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
    let (value, given) = state.withLock { state in
      let value = change(&state)
      var given: [(Reader, PeerEvent?)] = []
      while let reader = state.readers.first {
        let event = Self.take(&state)
        if event == nil, !state.isClosed { break }
        state.readers.removeFirst()
        given.append((reader, event))
      }
      return (value, given)
    }
    for (reader, event) in given { reader.continuation.resume(returning: event) }
    return value
  }

  /// The next event; events without a case in this interface are skipped.
  private static func take(_ state: inout State) -> PeerEvent? {
    while let entry = state.backlog.take() {
      switch entry {
      case .missed(let count): return .missed(count)
      case .event(let event, let isComplete):
        if let event = PeerEvent(event, isComplete: isComplete) { return event }
      }
    }
    return nil
  }
}
