import MigrationEngine
import MigrationTransfer
import MigrationWire

extension AppReceiveOptions {
  /// Understands what `peer receive` is told of an app; nil if it is told of none.
  init?(_ arguments: Arguments) throws(TransferFailure) {
    guard let app = try arguments.app() else {
      for option in ["--platform", "--option", "--replace"]
      where arguments.has(option) || arguments.bytes(option) != nil {
        throw .usage("\(option) is for apps only", hint: "write --app ID as well, or leave it out")
      }
      return nil
    }
    identifier = app
    platform = try arguments.text("--platform")
    if let platform, platform.utf8.count > Limits.identifier {
      throw .usage("--platform: the name is too long", hint: "a platform is called linux or android, for example")
    }
    replaces = arguments.has("--replace")
    options = try arguments.requestOptions(.receive)
  }
}

extension Arguments {
  /// What an app's exporter is asked for, each name once.
  func requestOptions(_ verb: Verb) throws(TransferFailure) -> [AppRequest.Option] {
    var options: [AppRequest.Option] = []
    for word in all("--option") { options.append(try Self.option(word)) }
    var names: Set<String> = []
    for option in options where !names.insert(option.name).inserted {
      throw .usage("--option: \(VisibleText.quoted(option.name)) is given twice", verb)
    }
    // All of them travel in one message.
    guard options.reduce(0, { $0 + $1.name.utf8.count + $1.value.count }) <= Limits.optionValue else {
      throw .usage("the options are too long", hint: "all of them together may have \(Limits.optionValue) bytes")
    }
    return options
  }

  private static func option(_ word: [UInt8]) throws(TransferFailure) -> AppRequest.Option {
    let hint = "write --option NAME=VALUE; the value may be empty"
    guard let equals = word.firstIndex(of: UInt8(ascii: "=")) else {
      throw .usage("--option: \(VisibleText.quoted(word)) has no value", hint: hint)
    }
    guard let name = String(validating: word[..<equals], as: UTF8.self), (1...255).contains(name.utf8.count) else {
      throw .usage("--option: \(VisibleText.quoted(Array(word[..<equals]))) is no name", hint: hint)
    }
    return AppRequest.Option(name: name, value: Array(word[(equals + 1)...]))
  }
}
