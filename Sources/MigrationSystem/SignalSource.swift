import CSystem
import Glibc

/// The signals by which the user ends a program, read like bytes instead of interrupting it.
///
/// Made first thing in `main`: threads started later inherit the blocking, those that run already do not.
package struct SignalSource: ~Copyable, Sendable {
  /// A signal that asks the program to end.
  package enum Signal: CInt, CaseIterable, Sendable {
    /// SIGHUP: the terminal is gone.
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

  /// The next signal, or nil if none has come.
  package func next() throws(SystemError) -> Signal? {
    do {
      return Signal(rawValue: try calling("collect signals") { csystem_next_signal(descriptor.raw) })
    } catch let error where error.isWouldBlock {
      return nil
    }
  }

  /// Makes writing to a pipe or socket that nobody reads an error instead of the program's end.
  package static func ignoreBrokenPipe() {
    _ = signal(SIGPIPE, SIG_IGN)
  }
}
