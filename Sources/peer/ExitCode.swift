import MigrationEngine
import PeerTransfer

/// The exit codes; the help texts explain them.
enum ExitCode {
  /// Everything was done.
  static let done: Int32 = 0
  /// The command line is wrong.
  static let usage = TransferFailure.Kind.usage.rawValue
  /// Everything was done that could be, but some items could not be sent, or not be stored.
  static let doneWithUnsent: Int32 = 8

  /// The code of a completed transfer.
  static func of(_ result: TransferResult, unsent: UnsentList) -> Int32 {
    unsent.isComplete(result) ? done : doneWithUnsent
  }

  /// The code of a transfer that failed.
  static func of(_ failure: TransferFailure) -> Int32 { failure.kind.rawValue }
}

extension TransferFailure.Kind {
  /// The kind's name in JSON.
  var name: String {
    switch self {
    case .failed: "failed"
    case .usage: "usage"
    case .pairing: "pairing"
    case .refused: "refused"
    case .connectionLost: "connectionLost"
    case .noSpace: "noSpace"
    case .importFailed: "importFailed"
    case .exportFailed: "exportFailed"
    case .interrupted: "interrupted"
    case .terminated: "terminated"
    }
  }
}
