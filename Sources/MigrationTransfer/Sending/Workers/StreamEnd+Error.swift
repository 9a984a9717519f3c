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
    default: self = .failed(Fault(error))
    }
  }
}
