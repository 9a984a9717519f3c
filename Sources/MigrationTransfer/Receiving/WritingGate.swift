import MigrationSystem
package import MigrationWire

/// Keeps the end of an archive, and the next session, apart from the writing of it (Protocol §6.5,
/// §7.3).
package final class WritingGate: Sendable {
  private struct State {
    var writing = 0
    var isShut = false
    var isClosed = false
    var lastLeft = BootInstant.now()
  }

  private let state = Mutex(State())

  package init() {}

  /// Something is about to be written: a violation behind the end of the export, and a
  /// `ConnectionError` behind that of the session.
  package func enter() throws {
    try state.withLock { state in
      guard !state.isClosed else { throw ConnectionError(.stopped, "the session has ended") }
      guard !state.isShut else { throw Violation(.state, "a data frame") }
      state.writing += 1
    }
  }

  /// It is written, or never will be.
  package func leave() {
    state.withLock { state in
      state.writing -= 1
      state.lastLeft = .now()
    }
  }

  /// When something was last written, or the gate was made; nil while something is being written.
  var lastLeft: BootInstant? { state.withLock { $0.writing == 0 ? $0.lastLeft : nil } }

  /// The export has ended. A violation while a frame is being written, because that frame cannot
  /// have been acknowledged yet.
  package func shut() throws(Violation) {
    try state.withLock { (state) throws(Violation) in
      guard state.writing == 0 else { throw Violation(.state, "the end of the export") }
      state.isShut = true
    }
  }

  /// The session has ended: only the writes that have begun finish.
  package func close() { state.withLock { $0.isClosed = true } }
}
