/// Carries a value with one owner into a closure that runs once.
package final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  package init(_ value: consuming sending Value) { self.value = Mutex(value) }

  /// Takes the value out. Called once.
  package func take() -> Value {
    let taken = value.withLock { $0.take() }
    guard let taken else { preconditionFailure("a handover happens only once") }
    return taken
  }
}
