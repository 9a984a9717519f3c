import Synchronization

/// A fact that becomes true once, and that any thread may look up.
final class AtomicFlag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }

  func set() { value.store(true, ordering: .releasing) }
}
