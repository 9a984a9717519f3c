import CSystem
import Glibc

/// Lets any thread end another thread's wait.
///
/// It stays readable from the first signal until it is cleared, regardless of the number of
/// signals. The waiting thread clears it before it checks the reason for the signal, so that no
/// signal is missed.
package final class Wakeup: Sendable {
  private let event: Descriptor

  /// Creates a wakeup without a signal.
  package init() throws(SystemError) {
    event = Descriptor(owning: try calling("make an event") { csystem_event() })
  }

  /// The descriptor to wait for.
  package var raw: CInt { event.raw }

  /// Ends the wait. Never blocks; its only possible error means that it is signalled already.
  package func signal() {
    _ = csystem_signal_event(event.raw)
  }

  /// Clears the signal.
  package func clear() {
    _ = csystem_clear_event(event.raw)
  }
}
