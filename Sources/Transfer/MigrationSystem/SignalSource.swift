import CSystem
import Glibc

/// The signals with which the user ends a program, read like bytes instead of interrupting it.
///
/// Create it first in `main`: threads that start later inherit the blocked signals, but running
/// threads do not.
package struct SignalSource: ~Copyable, Sendable {
  /// A signal that asks the program to end.
  package enum Signal: CInt, CaseIterable, Sendable {
    /// SIGHUP: the terminal was closed.
    case hangUp = 1
    /// SIGINT: Ctrl-C.
    case interrupt = 2
    /// SIGTERM.
    case terminate = 15
  }

  private let descriptor: Descriptor

  /// Blocks the signals in the calling thread and collects them.
  package init(_ signals: [Signal] = Signal.allCases) throws(SystemError) {
    let numbers = signals.map(\.rawValue)
    descriptor = Descriptor(
      owning: try calling("collect signals") { unsafe csystem_signals(numbers, numbers.count) })
  }

  /// The descriptor to wait for.
  package var raw: CInt { descriptor.raw }

  /// The next signal, or nil if there is none.
  package func next() throws(SystemError) -> Signal? {
    do {
      return Signal(rawValue: try calling("collect signals") { csystem_next_signal(descriptor.raw) })
    } catch let error where error.isWouldBlock {
      return nil
    }
  }

  /// Makes writing to a pipe or socket without a reader an error; by default it ends the program.
  package static func ignoreBrokenPipe() {
    _ = signal(SIGPIPE, SIG_IGN)
  }
}
