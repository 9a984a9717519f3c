import MigrationSystem
import TestSupport

/// Holds up every thread that comes until the test opens it.
final class Gateway: Sendable {
  private let state = Condition((isReached: false, isOpen: false))

  func pass() {
    state.withLock { $0.isReached = true }
    state.broadcast()
    _ = try? state.wait(for: "the gateway to open") { $0.isOpen ? true : nil }
  }

  func waitUntilReached() throws { _ = try state.wait(for: "the gateway") { $0.isReached ? true : nil } }

  func open() {
    state.withLock { $0.isOpen = true }
    state.broadcast()
  }
}
