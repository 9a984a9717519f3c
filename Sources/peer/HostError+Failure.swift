import MigrationHost
import MigrationTransfer

extension TransferFailure {
  /// What a failure with an app of this device means for the one who gave the command.
  init(_ error: HostError) {
    let kind: Kind =
      switch error.code {
      case .source, .notInstalled, .location: .usage
      case .bundle, .inUse, .container: .refused
      case .noSpace: .noSpace
      default: .failed
      }
    self.init(kind, error.description, hint: error.hint)
  }
}
