import MigrationEngine
import MigrationTransfer
import MigrationWire

extension AppCommand {
  /// Parses the words after a command about apps, except `peer app run`.
  init(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) {
    let json = arguments.has("--json")
    switch verb {
    case .appInstall:
      self = .install(
        try arguments.operand(verb, "bundle", hint: "name the directory of an app's bundle"), json: json)
    case .appList:
      if let stray = arguments.operands.first {
        throw .usage("unexpected argument \(VisibleText.quoted(stray))", verb)
      }
      self = .list(json: json)
    case .appRemove:
      self = .remove(
        try Self.identifier(arguments, verb), credentials: arguments.has("--credentials"), json: json)
    case .appStatus:
      self = .status(try Self.identifier(arguments, verb), clear: arguments.has("--clear"), json: json)
    case .appNew: self = .new(try NewAppOptions(arguments))
    case .appCheck: self = .check(try CheckOptions(arguments))
    case .appMigrate: self = .migrate(try MigrateOptions(arguments))
    default: throw .noCommand(of: .app, arguments)
    }
  }

  private static func identifier(_ arguments: Arguments, _ verb: Verb) throws(TransferFailure) -> String {
    VisibleText.of(try arguments.operand(verb, "app", hint: Self.hint))
  }

  static let hint = "name an app by its identifier; 'peer app list' lists the installed apps"
}

extension Arguments {
  /// The only operand of a command.
  func operand(_ verb: Verb, _ what: String, hint: String) throws(TransferFailure) -> [UInt8] {
    guard let operand = operands.first, !operand.isEmpty else {
      throw .usage("missing argument: \(what)", hint: hint)
    }
    guard operands.count == 1 else {
      throw .usage(
        "unexpected argument \(VisibleText.quoted(operands[1])): 'peer \(verb.rawValue)' takes one \(what)",
        verb)
    }
    return operand
  }
}

extension Command {
  /// Parses the words after `peer app run`. The program's own options come before the identifier;
  /// all words after it go to the app.
  static func run(_ words: [[UInt8]]) throws(TransferFailure) -> Command {
    var words = words[...]
    if let first = words.first, first.first == UInt8(ascii: "-"), first != Array("--".utf8) {
      if try Arguments([first], of: .appRun).has("--help") { return .help(.appRun) }
    }
    if words.first == Array("--".utf8) { words.removeFirst() }
    guard let identifier = words.popFirst(), !identifier.isEmpty else {
      throw .usage("missing argument: app", hint: AppCommand.hint)
    }
    return .app(.run(VisibleText.of(identifier), arguments: Array(words)))
  }
}
