import CSystem
import Glibc

/// Lets any thread end another one's wait.
///
/// It stays readable from the first signal until it is cleared, however many signals there are. The thread that
/// waits clears it before it looks at what the signal was about, so that none is missed.
package final class Wakeup: Sendable {
  private let event: Descriptor

  /// Makes one that nobody has signalled.
  package init() throws(SystemError) {
    event = Descriptor(owning: try calling("make an event") { csystem_event() })
  }

  /// The descriptor to wait for.
  package var raw: CInt { event.raw }

  /// Ends the wait. Never blocks; the one error there is says that it is signalled already.
  package func signal() {
    _ = csystem_signal_event(event.raw)
  }

  /// Makes it wait again.
  package func clear() {
    _ = csystem_clear_event(event.raw)
  }
}
