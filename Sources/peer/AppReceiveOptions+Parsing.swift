import MigrationEngine
import MigrationTransfer
import MigrationWire

extension AppReceiveOptions {
  /// The options of `peer receive` about an app; nil without an app.
  init?(_ arguments: Arguments) throws(TransferFailure) {
    guard let app = try arguments.app() else {
      for option in ["--platform", "--option", "--replace"]
      where arguments.has(option) || arguments.bytes(option) != nil {
        throw .usage("\(option) requires --app", hint: "add --app ID, or remove \(option)")
      }
      return nil
    }
    identifier = app
    platform = try arguments.text("--platform")
    if let platform, platform.utf8.count > Limits.identifier {
      throw .usage("--platform: the name is too long", hint: "write a name such as linux or android")
    }
    replaces = arguments.has("--replace")
    options = try arguments.requestOptions(.receive)
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
