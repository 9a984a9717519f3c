import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

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
