package import MigrationEngine
import MigrationWire

extension SenderEngine.StreamEnd {
  /// The end of a stream that ended by an error. Another stream may succeed if this one was cut or
  /// turned away. If all are, the session ends like a cut: only the control connection tells
  /// whether the transfer still exists.
  package init(by error: any Error, hasBrought: Bool) {
    switch error {
    case let error as ConnectionError where error.code != .violated: self = .lost(hasBrought: hasBrought)
    case AbortReason.busy: self = .lost(hasBrought: hasBrought)
    case AbortReason.unknownPeer: self = .refused("the other device has no session for them")
    case let close as Close where close.code == .silent: self = .refused(Fault(told: close).message)
    default: self = .failed(Fault(error))
    }
  }

  private static func refused(_ reason: String) -> Self {
    .turnedAway(Fault(.connection, "the data connections keep breaking: \(reason)"))
  }
}
