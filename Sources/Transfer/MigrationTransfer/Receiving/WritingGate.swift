import MigrationSystem
package import MigrationWire

/// Separates the writing of a part from its ledger, from the end of its archive, and from the next
/// session (Protocol §6.5, §7.3).
package final class WritingGate: Sendable {
  private enum Phase {
    case notYet
    case open
    case shut
    /// The part has failed.
    case discarding
    /// The session has ended.
    case closed
  }

  private struct State {
    var phase = Phase.notYet
    var writing = 0
    var lastLeft = BootInstant.now()
  }

  private let state = Mutex(State())

  package init() {}

  /// Something is about to be written; returns whether it is, because data of a part that has failed
  /// is not. A violation before the end of the ledger and after the end of the export; after that of
  /// the session, the stream counts as stopped.
  package func enter() throws(ConnectionError) -> Bool {
    try state.withLock { (state) throws(ConnectionError) in
      switch state.phase {
      case .open: state.writing += 1
      case .discarding: return false
      case .notYet, .shut: throw ConnectionError(Violation(.state, "a data frame"))
      case .closed: throw ConnectionError(.stopped, "the session has ended")
      }
      return true
    }
  }

  /// A write has ended.
  package func leave() {
    state.withLock { state in
      state.writing -= 1
      state.lastLeft = .now()
    }
  }

  /// The end of the last write, or the time when the gate was made; nil during a write.
  var lastLeft: BootInstant? { state.withLock { $0.writing == 0 ? $0.lastLeft : nil } }

  /// The ledger is sent.
  package func open() { state.withLock { if $0.phase == .notYet { $0.phase = .open } } }

  /// The export has ended. A violation while a frame is being written, because that frame cannot
  /// have been acknowledged yet.
  package func shut() throws(Violation) {
    try state.withLock { (state) throws(Violation) in
      guard state.writing == 0 else { throw Violation(.state, "the end of the export") }
      if state.phase == .open { state.phase = .shut }
    }
  }

  /// The part has failed.
  package func discard() { state.withLock { if $0.phase != .closed { $0.phase = .discarding } } }

  /// The session has ended: only writes that have begun finish.
  package func close() { state.withLock { $0.phase = .closed } }
}
