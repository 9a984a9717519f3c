import MigrationApps
import MigrationEngine
import MigrationWire
import PeerTransfer

/// The exit codes; the help texts explain them.
enum ExitCode {
  /// Everything was done.
  static let done: Int32 = 0
  /// The command line is wrong.
  static let usage = Failure.Kind.usage.rawValue
  /// Everything was done that could be, but some items could not be sent, or not be stored.
  static let doneWithUnsent: Int32 = 8

  /// The code of a completed transfer.
  static func of(_ result: TransferResult, unsent: NotStoredList, leavingOut leftOut: [Omission] = []) -> Int32 {
    unsent.isComplete(result) && !leftOut.contains(where: \.isNewer) ? done : doneWithUnsent
  }

  /// The code of a transfer that failed.
  static func of(_ failure: Failure) -> Int32 { failure.kind.rawValue }
}
