import MigrationSystem
import PeerTransfer
import TestSupport
import Testing

/// A receiver on a port of its own, whose events are read from the beginning.
struct WaitingReceiver: Sendable {
  let receiver: PeerReceiver
  /// Cancelling it ends the receiver.
  let task: Task<Result<PeerResult, PeerError>, Never>
  let log: EventLog

  init(into destination: String, _ change: (inout PeerReceiver.Options) -> Void = { _ in }) {
    var options = PeerReceiver.Options()
    options.host = "127.0.0.1"
    options.port = 0
    options.isAnnounced = false
    options.label = "new"
    change(&options)
    let receiver = PeerReceiver(into: PeerPath(destination), options: options)
    self.receiver = receiver
    log = EventLog(receiver.events)
    task = Task { await outcome { () async throws(PeerError) in try await receiver.receive() } }
  }

  /// The port on which it listens.
  func target() async throws -> PeerSender.Target {
    let port = await log.first { if case .listening(_, let port) = $0 { port } else { nil } }
    return .host("127.0.0.1", port: try #require(port))
  }

  /// The code that it shows.
  func code() async throws -> PeerCode {
    try #require(await log.first { if case .code(let code, _) = $0 { code } else { nil } })
  }
}

/// A running sender.
struct RunningSender: Sendable {
  let sender: PeerSender
  /// Cancelling it ends the sender.
  let task: Task<Result<PeerResult, PeerError>, Never>
  let log: EventLog

  init(
    _ paths: String..., to target: PeerSender.Target, code: PeerCode?,
    _ change: (inout PeerSender.Options) -> Void = { _ in }
  ) {
    var options = PeerSender.Options()
    options.label = "old"
    change(&options)
    let sender = PeerSender(paths.map { PeerPath($0) }, to: target, options: options)
    self.sender = sender
    log = EventLog(sender.events)
    task = Task { await outcome { () async throws(PeerError) in try await sender.send { _ in code } } }
  }
}

/// The result of a task.
func outcome(
  _ body: () async throws(PeerError) -> PeerResult
) async -> Result<PeerResult, PeerError> {
  do throws(PeerError) { return .success(try await body()) } catch { return .failure(error) }
}

extension Result<PeerResult, PeerError> {
  /// The failure; nil if there is none.
  var failure: PeerError? { if case .failure(let error) = self { error } else { nil } }
}

/// Reads and keeps all events of a transfer.
final class EventLog: Sendable {
  private struct State: Sendable {
    var events: [PeerEvent] = []
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  init(_ events: PeerEvents) {
    Task { [self] in
      for await event in events { note { $0.events.append(event) } }
      note { $0.isOver = true }
    }
  }

  private func note(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume() }
  }

  /// The first value that `look` finds in an event, as soon as the event has come; nil if there is
  /// none.
  func first<Value: Sendable>(_ look: (PeerEvent) -> Value?) async -> Value? {
    while true {
      let (found, isOver) = state.withLock { state in (state.events.lazy.compactMap(look).first, state.isOver) }
      if found != nil || isOver { return found }
      await withCheckedContinuation { continuation in
        let isChanged = state.withLock { state in
          if state.isOver || state.events.lazy.compactMap(look).first != nil { return true }
          state.waiting.append(continuation)
          return false
        }
        if isChanged { continuation.resume() }
      }
    }
  }

  /// All events, when the transfer has ended.
  func all() async -> [PeerEvent] {
    _ = await first { (_) -> Void? in nil }
    return state.withLock { $0.events }
  }
}
