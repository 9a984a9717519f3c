import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A parsed command line.
enum Command: Equatable, Sendable {
  case receive(ReceiveOptions)
  case send(SendOptions)
  /// List the waiting devices on the network.
  case discover(DiscoverOptions)
  /// List the unfinished transfers.
  case resumeList(json: Bool)
  /// Forget the unfinished transfer whose identifier begins with these digits.
  case forget(String, json: Bool)
  /// A command about the apps of this device.
  case app(AppCommand)
  /// A command about the credentials of apps.
  case credentials(CredentialsCommand)
  /// A command about the recorded sign-in of users.
  case account(AccountCommand)
  /// Create a code for two devices: in a new file, or on standard output.
  case newCode(file: [UInt8]?)
  /// A help text: of a command, or of the whole program.
  case help(Verb?)
  /// A page of the manual.
  case manual(ManualPage)
  /// A shell's script for completions.
  case completion(Shell)
  /// The completions of an unfinished command line.
  case complete(Completion.Request)
  case version
  /// An empty command line.
  case nothing
}

/// The options of `peer app`.
enum AppCommand: Equatable, Sendable {
  /// The path of a bundle.
  case install([UInt8], json: Bool)
  case list(json: Bool)
  case remove(String, credentials: Bool, json: Bool)
  case status(String, clear: Bool, json: Bool)
  /// The arguments are for the app.
  case run(String, arguments: [[UInt8]])
  /// Create the package of a new app.
  case new(NewAppOptions)
  case check(CheckOptions)
  case migrate(MigrateOptions)
}

extension Command {
  /// Parses the words after the program's name.
  init(_ words: [[UInt8]]) throws(TransferFailure) {
    guard let first = words.first else {
      self = .nothing
      return
    }
    let rest = Array(words.dropFirst())
    let word = VisibleText.of(first)
    switch word {
    case _ where word == Verb.help.rawValue || Overview.help.names.contains(word): self = try Self.help(rest)
    case "--version":
      guard rest.isEmpty else { throw .usage("--version takes no other arguments", hint: "run 'peer --version'") }
      self = .version
    default:
      guard let verb = Verb(words.prefix(2).map { VisibleText.of($0) }) else { throw Self.unknown(word) }
      let rest = Array(words.dropFirst(verb.length))
      if verb == .appRun {
        self = try Self.run(rest)
        return
      }
      if verb == .completion, let request = Completion.Request(rest) {
        self = .complete(request)
        return
      }
      let arguments = try Arguments(rest, of: verb)
      if arguments.has("--help") {
        self = .help(verb)
      } else {
        switch verb {
        case .receive: self = .receive(try ReceiveOptions(arguments))
        case .send: self = .send(try SendOptions(arguments))
        case .discover: self = .discover(try DiscoverOptions(arguments))
        case .resume: self = try Self.resume(arguments)
        case .forget: self = .forget(try Self.identifier(arguments), json: arguments.has("--json"))
        case .code, .codeNew: self = try Self.code(verb, arguments)
        case .completion: self = .completion(try Shell(arguments))
        case .help: self = try Self.help(rest)
        case .app, .appInstall, .appList, .appRemove, .appRun, .appStatus, .appNew, .appCheck, .appMigrate:
          self = .app(try AppCommand(verb, arguments))
        case .credentials, .credentialsList, .credentialsRemove:
          self = .credentials(try CredentialsCommand(verb, arguments))
        case .account, .accountAuthorize, .accountRevoke, .accountList:
          self = .account(try AccountCommand(verb, arguments))
        }
      }
    }
  }

  private static func resume(_ arguments: Arguments) throws(TransferFailure) -> Command {
    let words = arguments.operands.map { VisibleText.of($0) }
    guard let first = words.first else {
      throw .usage(
        "missing command after 'peer resume'",
        hint: "run 'peer resume list', or resume a transfer by running its command again")
    }
    guard words == ["list"] else {
      throw .usage("unexpected argument '\(first == "list" ? words[1] : first)'", .resume)
    }
    return .resumeList(json: arguments.has("--json"))
  }

  /// The first digits of a transfer's ID.
  private static func identifier(_ arguments: Arguments) throws(TransferFailure) -> String {
    guard arguments.operands.count == 1, let typed = arguments.operands.first else {
      throw .usage(
        arguments.operands.isEmpty ? "missing argument: ID" : "'peer forget' takes one ID",
        hint: "'peer resume list' shows the ID of each unfinished transfer")
    }
    let text = VisibleText.of(typed).lowercased()
    guard text.count <= 32, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw .usage(
        "\(VisibleText.quoted(typed)) is not a transfer's ID",
        hint: "'peer resume list' shows the ID of each unfinished transfer")
    }
    guard text.count >= TransferStore.shortestPrefix else {
      throw .usage(
        "'\(text)' is too short for an ID", hint: "write at least \(TransferStore.shortestPrefix) of its digits")
    }
    return text
  }
}

extension DiscoverOptions {
  /// Parses the words after `peer discover`.
  fileprivate init(_ arguments: Arguments) throws(TransferFailure) {
    if let first = arguments.operands.first {
      throw .usage("unexpected argument \(VisibleText.quoted(first))", .discover)
    }
    let hint = "write seconds, or 90s, 10m, 2h"
    time = try arguments.seconds("--for", hint: hint) ?? Self.usualTime
    guard time > 0 else {
      throw .usage("--for: \(VisibleText.quoted(arguments.bytes("--for") ?? [])) is too short", hint: hint)
    }
    json = arguments.has("--json")
  }
}

extension Command {
  /// Parses the words after `peer help`.
  static func help(_ words: [[UInt8]]) throws(TransferFailure) -> Command {
    let arguments = try Arguments(words, of: .help)
    if arguments.has("--help") { return .help(.help) }
    let topic = try topic(arguments.operands)
    return arguments.has("--man") ? .manual(ManualPage(of: topic)) : .help(topic)
  }

  private static func topic(_ words: [[UInt8]]) throws(TransferFailure) -> Verb? {
    let words = words.map { VisibleText.of($0) }
    guard let first = words.first else { return nil }
    guard let verb = Verb(words) else { throw unknown(first) }
    guard words.count == verb.length else {
      if verb == .code { throw unknownCodeCommand(words[1]) }
      if !verb.members.isEmpty { throw .unknown(words[1], in: verb) }
      throw .usage("too many arguments: 'peer help' takes one command", hint: "run 'peer help' to list the commands")
    }
    return verb
  }

  /// The failure for an unknown word in the place of a command.
  static func unknown(_ word: String) -> TransferFailure {
    let all = "run 'peer --help' to list the commands"
    if word.hasPrefix("-") {
      let name = word.prefix { $0 != "=" }
      if let verb = Verb.allCases.first(where: { $0.options.contains { $0.name == name } }) {
        return .usage(
          "the option \(word) must follow the command", hint: "write 'peer \(verb.rawValue) \(word)'")
      }
      let close = Suggestion.closest(to: word, among: Overview.options.map(\.name))
      return .usage("unknown option \(word)", hint: close.map { "did you mean \($0)?" } ?? all)
    }
    let close = Suggestion.closest(to: word, among: Verb.allCases.map(\.rawValue))
    return .usage("unknown command '\(word)'", hint: close.map { "did you mean 'peer \($0)'?" } ?? all)
  }
}

extension Shell {
  /// Parses the words after `peer completion`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    let names = Self.allCases.map(\.rawValue)
    let hint = "write one of \(names.joined(separator: ", ")), as in 'peer completion \(names[0])'"
    guard let word = arguments.operands.first else { throw .usage("missing argument: shell", hint: hint) }
    guard arguments.operands.count == 1 else {
      throw .usage(
        "unexpected argument \(VisibleText.quoted(arguments.operands[1])): 'peer completion' takes one shell",
        hint: hint)
    }
    guard let shell = Self.allCases.first(where: { Array($0.rawValue.utf8) == word }) else {
      throw .usage("unknown shell \(VisibleText.quoted(word))", hint: hint)
    }
    self = shell
  }
}
