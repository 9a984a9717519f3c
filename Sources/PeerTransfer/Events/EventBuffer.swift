import MigrationEngine
import Synchronization

/// What a transfer has told and its reader has not taken yet, in a bounded number of bytes.
///
/// Whatever thread tells returns at once. What is not read costs the backlog's memory and nothing else: of progress the latest
/// waits, and what does not fit is counted.
final class EventBuffer: Sendable {
  private struct State: Sendable {
    var backlog = EventBacklog()
    /// Of all events of the transfer, those included that did not fit.
    var unsent = UnsentList()
    /// Whether the last event has told the end of a transfer.
    var isAtEnd = false
    /// Whether that end is one of many, and the end of all of them is told by itself.
    var isOneOfMany = false
    /// Nothing more comes.
    var isClosed = false
    /// Those that wait for something to read, the first one first.
    var readers: [Reader] = []
    var lastReader: UInt64 = 0
  }

  private struct Reader: Sendable {
    let number: UInt64
    let continuation: CheckedContinuation<PeerEvent?, Never>
  }

  private let state = Mutex(State())

  /// Takes note of what happens; returns at once.
  func add(_ event: TransferEvent) {
    tell { state in
      guard !state.isClosed else { return }
      // A receiver that stays begins anew.
      if state.isAtEnd { state.unsent = UnsentList() }
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

  /// There may be many transfers: the end of the last one is not the end of all.
  func expectMany() { state.withLock { $0.isOneOfMany = true } }

  /// Nothing more comes, and there was no end.
  func close() { tell { $0.isClosed = true } }

  /// Tells how it all ended, unless an event has, and that nothing more comes. What it came to.
  func close(_ result: Result<TransferResult, TransferFailure>) -> Result<PeerResult, PeerError> {
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

  /// Waits for something to read; nil at the end, and where the reader's task is cancelled.
  func next() async -> PeerEvent? {
    let number = state.withLock { state in
      state.lastReader += 1
      return state.lastReader
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        tell { state in
          // A cancellation that came before finds no reader.
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

  /// Changes the state, and gives readers what there is for them.
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

  /// What is read next; what this interface has no word for is passed over.
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
