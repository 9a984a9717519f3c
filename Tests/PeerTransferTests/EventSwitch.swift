import MigrationSystem

/// An event that happens once, and for which tasks wait.
final class EventSwitch: Sendable {
  private let state = Mutex<(isSet: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

  func set() {
    let waiting = state.withLock { state in
      state.isSet = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isSet = state.withLock { state in
        if !state.isSet { state.waiting.append(continuation) }
        return state.isSet
      }
      if isSet { continuation.resume() }
    }
  }
}
