import MigrationEngine
import MigrationSystem

/// The events of a transfer for its program. A thread that adds an event never waits: of the unread events,
/// the newest stay.
final class EventBuffer: Sendable {
  private struct State: Sendable {
    /// The items of all events of the transfer.
    var unsent = NotStoredList()
    /// Whether the last event was the end of a transfer.
    var isAtEnd = false
    /// Whether that transfer is one of many, so that the end of all is a separate event.
    var isOneOfMany = false
  }

  /// The most events that wait. All items that another device may name in a session as not stored fit
  /// (Protocol §11).
  static let capacity = 65_536

  let events: AsyncStream<PeerEvent>
  private let unread: AsyncStream<PeerEvent>.Continuation
  private let state = Mutex(State())

  init() {
    (events, unread) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.capacity))
  }

  /// Adds an event; returns at once.
  func add(_ event: TransferEvent) {
    state.withLock { state in
      // A receiver that stays open starts afresh.
      if state.isAtEnd { state.unsent = NotStoredList() }
      state.unsent.note(event)
      var isComplete = true
      switch event {
      case .done(let result): (state.isAtEnd, isComplete) = (true, state.unsent.isComplete(result))
      case .failed: state.isAtEnd = true
      default: state.isAtEnd = false
      }
      // Events without a case in the interface are skipped.
      if let event = PeerEvent(event, isComplete: isComplete) { unread.yield(event) }
    }
  }

  /// Expects many transfers: the end of one is not the end of all.
  func expectMany() { state.withLock { $0.isOneOfMany = true } }

  /// Ends the events without a result.
  func close() { unread.finish() }

  /// Ends the events with a result, unless an event has reported it already. Returns the result.
  func close(_ result: TransferOutcome) -> Result<PeerResult, PeerError> {
    defer { close() }
    return state.withLock { state in
      let isTold = state.isAtEnd && !state.isOneOfMany
      switch result {
      case .success(let done):
        let result = PeerResult(done, isComplete: state.unsent.isComplete(done))
        if !isTold { unread.yield(.done(result)) }
        return .success(result)
      case .failure(let failure):
        if !isTold { unread.yield(.failed(PeerError(failure))) }
        return .failure(PeerError(failure))
      }
    }
  }
}
