import Synchronization

/// Tells threads that what they do is to end: a flag that is set once, and the waits that it ends.
package final class StopSignal: Sendable {
  private struct State {
    var isSet = false
    var waiting: [Wakeup] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var isSet: Bool { state.withLock { $0.isSet } }

  /// Ends every wait that heeds this, from any thread.
  package func set() {
    let waiting = state.withLock { state in
      state.isSet = true
      return state.waiting
    }
    for wakeup in waiting { wakeup.signal() }
  }

  /// Signals the wakeup when this is set, or at once if it is.
  package func add(_ wakeup: Wakeup) {
    let isSet = state.withLock { state in
      state.waiting.append(wakeup)
      return state.isSet
    }
    if isSet { wakeup.signal() }
  }

  /// Leaves the wakeup alone from now on.
  package func remove(_ wakeup: Wakeup) { state.withLock { $0.waiting.removeAll { $0 === wakeup } } }
}
