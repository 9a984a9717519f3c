import MigrationWire
import Synchronization

/// Keeps the end of an archive apart from the writing of it: behind FINISH nothing comes (Protocol §6.5).
final class WritingGate: Sendable {
  private struct State {
    var writing = 0
    var isShut = false
  }

  private let state = Mutex(State())

  /// A frame is about to be written; a violation behind the end of the export.
  func enter() throws(Violation) {
    try state.withLock { (state) throws(Violation) in
      guard !state.isShut else { throw Violation(.state, "a data frame") }
      state.writing += 1
    }
  }

  /// The frame is written, or never will be.
  func leave() {
    state.withLock { $0.writing -= 1 }
  }

  /// The export is over; a violation while a frame is being written, which cannot have been acknowledged yet.
  func shut() throws(Violation) {
    try state.withLock { (state) throws(Violation) in
      guard state.writing == 0 else { throw Violation(.state, "the end of the export") }
      state.isShut = true
    }
  }
}
