import MigrationEngine
import MigrationSystem
import MigrationTransfer
import Synchronization

/// Ctrl-C and its kin: the first one ends the transfer in order, the second one ends the program at once.
///
/// Made before any thread is, so that all of them leave the signals to it.
final class Interruption: Sendable {
  private let signals: SignalSource
  private let noticed: Wakeup
  /// What came, and what is to be told of it.
  private let state = Mutex<(kind: TransferFailure.Kind?, stop: (@Sendable (TransferFailure.Kind) -> Void)?)>(
    (nil, nil))
  /// Set by the first signal, for what goes on before there is a transfer that could be told.
  let early = StopSignal()

  init() throws(TransferFailure) {
    do throws(SystemError) {
      signals = try SignalSource()
      noticed = try Wakeup()
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  /// What becomes readable once the first signal has been told.
  var raw: CInt { noticed.raw }

  /// Which signal came first; nil if none did.
  var kind: TransferFailure.Kind? { state.withLock { $0.kind } }

  /// Tells of the first signal, also of one that came already, from a thread of its own or at once.
  func tell(_ stop: @escaping @Sendable (TransferFailure.Kind) -> Void) {
    let kind = state.withLock { state in
      state.stop = stop
      return state.kind
    }
    if let kind { stop(kind) }
  }

  /// Does something that `early` ends; what it throws then says which signal it was.
  func honoured<Value>(_ body: () throws(TransferFailure) -> Value) throws(TransferFailure) -> Value {
    do {
      return try body()
    } catch {
      guard error.kind == .interrupted, let kind else { throw error }
      throw TransferFailure(kind, error.message)
    }
  }

  /// Looks for signals from now on.
  func watch() throws(TransferFailure) {
    do throws(SystemError) {
      _ = try OwnerThread(name: "signals") { [self] in
        let kind = wait()
        let stop = state.withLock { state in
          state.kind = kind
          return state.stop
        }
        early.set()
        stop?(kind)
        noticed.signal()
        LocalSystem.exit(wait().rawValue)
      }
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  private func wait() -> TransferFailure.Kind {
    while true {
      if let kind = next() { return kind }
      var poller = try? Poller()
      _ = try? poller?.wait(for: .readable, on: signals.raw)
    }
  }

  private func next() -> TransferFailure.Kind? {
    guard let signal = try? signals.next() else { return nil }
    switch signal {
    case .interrupt: return .interrupted
    case .terminate, .hangUp: return .terminated
    }
  }
}
