package import MigrationEngine
import MigrationWire

extension SenderEngine.StreamEnd {
  /// A stream that was not told to end has ended by an error: another one may do better where it
  /// was cut, or turned away.
  package init(by error: any Error, hasBrought: Bool) {
    switch error {
    case let error as ConnectionError where error.code != .violated: self = .lost(hasBrought: hasBrought)
    case AbortReason.busy: self = .lost(hasBrought: hasBrought)
    case AbortReason.unknownPeer: self = .turnedAway(Fault(error))
    // The receiver refuses this stream, and the session continues.
    case let close as Close where close.code == .silent:
      self = .turnedAway(Fault(.connection, "the data connections keep breaking: \(Fault(told: close).message)"))
    default: self = .failed(Fault(error))
    }
  }
}
