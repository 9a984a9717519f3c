import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Ctrl-C and similar signals: the first ends the transfer in order, the second ends the program at
/// once.
///
/// Created before any thread, so that no thread receives the signals.
final class Interruption: Sendable {
  private let signals: SignalSource
  private let noticed: Wakeup
  /// The first signal, and the function to call for it.
  private let state = Mutex<(kind: Failure.Kind?, stop: (@Sendable (Failure.Kind) -> Void)?)>(
    (nil, nil))
  /// Set by the first signal, for work before a transfer.
  let early = StopSignal()

  init() throws(Failure) {
    signals = try Failure.wrapping(SignalSource())
    noticed = try Failure.wrapping(Wakeup())
  }

  /// A descriptor that becomes readable when the first signal is noticed.
  var raw: CInt { noticed.raw }

  /// The first signal; nil if there was none.
  var kind: Failure.Kind? { state.withLock { $0.kind } }

  /// Calls a function for the first signal, on another thread; at once if the signal has come
  /// already.
  func tell(_ stop: @escaping @Sendable (Failure.Kind) -> Void) {
    let kind = state.withLock { state in
      state.stop = stop
      return state.kind
    }
    if let kind { stop(kind) }
  }

  /// Runs work that `early` ends; its error then names the signal.
  func honoured<Value>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    do {
      return try body()
    } catch {
      guard error.kind == .interrupted, let kind else { throw error }
      throw .interrupted(by: kind, error.message)
    }
  }

  /// Starts to watch for signals.
  func watch() throws(Failure) {
    _ = try Failure.wrapping(
      OwnerThread(name: "signals") { [self] in
        let kind = wait()
        let stop = state.withLock { state in
          state.kind = kind
          return state.stop
        }
        early.set()
        stop?(kind)
        noticed.signal()
        Peer.exit(wait().rawValue)
      })
  }

  private func wait() -> Failure.Kind {
    while true {
      if let signal = try? signals.next() { return signal.kind }
      guard var poller = try? Poller() else { continue }
      _ = try? poller.wait(for: .readable, on: signals.raw)
    }
  }
}

extension SignalSource.Signal {
  /// The failure of a run that the signal ends.
  var kind: Failure.Kind {
    switch self {
    case .interrupt: .interrupted
    case .terminate, .hangUp: .terminated
    }
  }
}

/// Raises the limit of descriptors for deep trees and several streams; if that fails, the present
/// limit has to do. Fails where a transfer would run out of them in its middle.
func prepareProcess() throws(Failure) {
  let least: UInt64 = 64
  if let limit = try? CurrentProcess.raiseDescriptorLimit(), limit < least {
    throw Failure(
      .failed, "this process may have only \(limit) files open, and a transfer needs \(least)",
      hint: "Raise the limit: 'ulimit -H -n' shows it, and LimitNOFILE= is that of a service.")
  }
  // A transfer may last for days, with thousands of sessions.
  CurrentProcess.keepLittleMemory()
}
