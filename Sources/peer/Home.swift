import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer

/// The directory of the program's state: PEER_HOME.
enum Home {
  /// The directory, which need not exist yet. A directory that belongs to another user, or that
  /// other users may change, is refused: it contains keys, paths and apps.
  static func path() throws(TransferFailure) -> [UInt8] {
    let path = try chosen()
    try TransferStore.check(path, hint: "Set PEER_HOME to a directory of your own.")
    return path
  }

  private static func chosen() throws(TransferFailure) -> [UInt8] {
    if let home = value("PEER_HOME") { return home }
    // The base directory specification: a relative path is ignored.
    if let data = value("XDG_DATA_HOME"), data.first == slash { return data + Array("/peer".utf8) }
    if let home = value("HOME") { return home + Array("/.local/share/peer".utf8) }
    throw .usage(
      "no directory for the program's state: neither PEER_HOME nor HOME is set",
      hint: "set PEER_HOME to a directory of your own")
  }

  private static let slash = UInt8(ascii: "/")

  private static func value(_ name: String) -> [UInt8]? {
    Environment.bytes(name).flatMap { $0.isEmpty ? nil : $0 }
  }
}

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
