import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// Ctrl-C and its kin: the first one ends the transfer in order, the second one ends the program at once.
///
/// Made before any thread is, so that all of them leave the signals to it.
final class Interruption: Sendable {
  private let signals: SignalSource
  private let noticed: Wakeup

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

  /// Tells of the first signal from now on, from a thread of its own.
  func watch(_ stop: @escaping @Sendable (TransferFailure.Kind) -> Void) throws(TransferFailure) {
    do throws(SystemError) {
      _ = try OwnerThread(name: "signals") { [self] in
        stop(wait())
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
