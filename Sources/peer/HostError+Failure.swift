import MigrationEngine
import MigrationHost
import MigrationTransfer

extension TransferFailure {
  /// What a failure with an app on this device means for the user.
  init(_ error: HostError) {
    let kind: Kind =
      switch error.code {
      case .source, .notInstalled: .usage
      case .bundle, .inUse, .location, .unfit: .refused
      case .stopped: .interrupted
      case .noSpace: .noSpace
      default: .failed
      }
    self.init(kind, error.description, hint: error.hint)
  }
}

/// Does something with an app, and says what its failure means for the user.
func withApps<Value>(_ body: (AppHome) throws(HostError) -> Value) throws(TransferFailure) -> Value {
  let path = try Home.path()
  do {
    return try body(try AppHome(home: path))
  } catch {
    throw TransferFailure(error)
  }
}
