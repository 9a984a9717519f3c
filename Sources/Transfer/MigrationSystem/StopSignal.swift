/// Tells threads to stop their work: a flag that is set once, and ends the waits that use it.
package final class StopSignal: Sendable {
  private struct State {
    var isSet = false
    var waiting: [Wakeup] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var isSet: Bool { state.withLock { $0.isSet } }

  /// Ends every wait that uses this signal, from any thread.
  package func set() {
    let waiting = state.withLock { state in
      state.isSet = true
      return state.waiting
    }
    for wakeup in waiting { wakeup.signal() }
  }

  /// Signals a wakeup when this is set, or immediately if it is set already, as long as the
  /// returned value exists.
  package func waking(_ wakeup: Wakeup) -> Waking {
    let isSet = state.withLock { state in
      state.waiting.append(wakeup)
      return state.isSet
    }
    if isSet { wakeup.signal() }
    return Waking(self, wakeup)
  }

  /// The connection of a stop signal to a wakeup.
  package final class Waking: Sendable {
    private let signal: StopSignal
    private let wakeup: Wakeup

    fileprivate init(_ signal: StopSignal, _ wakeup: Wakeup) {
      self.signal = signal
      self.wakeup = wakeup
    }

    deinit {
      signal.state.withLock { state in
        if let index = state.waiting.firstIndex(where: { $0 === wakeup }) { state.waiting.remove(at: index) }
      }
    }
  }
}
