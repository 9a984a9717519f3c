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

extension Arguments {
  /// The options for an app's exporter; no name occurs twice.
  func requestOptions(_ verb: Verb) throws(TransferFailure) -> [AppRequest.Option] {
    var options: [AppRequest.Option] = []
    for word in all("--option") { options.append(try Self.option(word)) }
    var names: Set<String> = []
    for option in options where !names.insert(option.name).inserted {
      throw .usage("--option: \(VisibleText.quoted(option.name)) is given more than once", verb)
    }
    // All options travel in one message.
    guard options.reduce(0, { $0 + $1.name.utf8.count + $1.value.count }) <= Limits.optionValue else {
      throw .usage(
        "--option: the options are too long",
        hint: "all names and values together have at most \(Limits.optionValue) bytes")
    }
    return options
  }

  private static func option(_ word: [UInt8]) throws(TransferFailure) -> AppRequest.Option {
    let hint = "write --option NAME=VALUE; the value may be empty"
    guard let equals = word.firstIndex(of: UInt8(ascii: "=")) else {
      throw .usage("--option: \(VisibleText.quoted(word)) has no value", hint: hint)
    }
    guard let name = String(validating: word[..<equals], as: UTF8.self), (1...255).contains(name.utf8.count) else {
      throw .usage("--option: \(VisibleText.quoted(Array(word[..<equals]))) is not a valid name", hint: hint)
    }
    return AppRequest.Option(name: name, value: Array(word[(equals + 1)...]))
  }
}
