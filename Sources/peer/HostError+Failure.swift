import MigrationEngine
import MigrationHost
import MigrationTransfer

extension TransferFailure {
  /// The user's failure for an error with an app on this device.
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

extension TransferEvent {
  /// An event for news of an extension's host; nil for news that only its author gets.
  init?(_ news: HostNews) {
    switch news {
    case .output(let output): self = .extensionOutput(isError: output.stream == .error, line: output.line)
    case .notice(let text): self = .notice(text)
    case .refused: return nil
    }
  }
}

/// Works with the apps of PEER_HOME, and turns an error into the user's failure.
func withApps<Value>(_ body: (AppHome) throws(HostError) -> Value) throws(TransferFailure) -> Value {
  let path = try Home.path()
  do {
    return try body(try AppHome(home: path))
  } catch {
    throw TransferFailure(error)
  }
}
