import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationWire

extension Arguments {
  /// The time in which an exporter may append nothing; nil if the option is not given.
  func idleLimit() throws(TransferFailure) -> IdleLimit? {
    let option = "--idle-limit"
    if try text(option) == "off" { return .off }
    guard let seconds = try seconds(option, hint: "write seconds, or 90s, 10m, 2h, or off") else { return nil }
    guard seconds > 0 else { throw .usage("\(option): the time must not be 0", hint: "write a positive time, or off") }
    return .seconds(seconds)
  }

  /// The claimed source of an app's data: a platform, optionally with a store after a comma; nil if
  /// the option is not given.
  func claim() throws(TransferFailure) -> SourceClaim? {
    let option = "--as"
    guard let text = try text(option) else { return nil }
    let hint = "write a platform, as in --as android, or one with a store, as in --as android,googlePlay"
    let parts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard !parts[0].isEmpty else { throw .usage("\(option): missing platform", hint: hint) }
    guard parts.allSatisfy({ $0.utf8.count <= Limits.identifier && !$0.utf8.contains(0) }) else {
      throw .usage("\(option): a name is too long", hint: hint)
    }
    return SourceClaim(platform: parts[0], store: parts.count > 1 ? parts[1] : nil)
  }
}
