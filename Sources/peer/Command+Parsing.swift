import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension Command {
  /// Understands the words behind the program's name.
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
      guard rest.isEmpty else { throw .usage("--version stands alone", hint: "run 'peer --version'") }
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
        "'peer resume' needs 'list' behind it",
        hint: "run 'peer resume list'; an unfinished transfer goes on when its command is run again")
    }
    guard words == ["list"] else {
      throw .usage("'peer resume' does not know '\(first == "list" ? words[1] : first)'", .resume)
    }
    return .resumeList(json: arguments.has("--json"))
  }

  /// The digits by which a transfer is named.
  private static func identifier(_ arguments: Arguments) throws(TransferFailure) -> String {
    guard arguments.operands.count == 1, let typed = arguments.operands.first else {
      throw .usage(
        arguments.operands.isEmpty ? "it is not said what to forget" : "'peer forget' takes one ID",
        hint: "'peer resume list' shows the ID of each unfinished transfer")
    }
    let text = VisibleText.of(typed).lowercased()
    guard text.count <= 32, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw .usage(
        "\(VisibleText.quoted(typed)) is not the ID of a transfer",
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
  /// Understands what stands behind `peer discover`.
  fileprivate init(_ arguments: Arguments) throws(TransferFailure) {
    if let first = arguments.operands.first {
      throw .usage("'peer discover' takes options only, and \(VisibleText.quoted(first)) is none", .discover)
    }
    let hint = "write seconds, or 90s, 10m, 2h"
    time = try arguments.seconds("--for", hint: hint) ?? Self.usualTime
    guard time > 0 else {
      throw .usage("--for: \(VisibleText.quoted(arguments.bytes("--for") ?? [])) is too short a time", hint: hint)
    }
    json = arguments.has("--json")
  }
}

extension ReceiveOptions {
  /// Understands what stands behind `peer receive`.
  fileprivate init(_ arguments: Arguments) throws(TransferFailure) {
    guard arguments.operands.count < 2 else {
      let second = VisibleText.of(arguments.operands[1])
      throw .usage("'peer receive' takes one directory, and '\(second)' is a second one", .receive)
    }
    directory = arguments.operands.first
    guard directory?.isEmpty != true else {
      throw .usage(
        "the directory to receive into is empty text", hint: "name a directory, or leave it out for this one")
    }
    app = try AppReceiveOptions(arguments)
    asks = arguments.has("--ask")
    if app != nil, directory != nil {
      throw .usage("an app's data has its place: \(VisibleText.quoted(directory ?? [])) is too much", .receive)
    }
    keeps = arguments.has("--keep")
    codeFile = try arguments.codeFile()
    if keeps, app != nil { throw .usage("--keep is for folders only", .receive) }
    if keeps, codeFile != nil {
      throw .usage(
        "--code-file is for one transfer, and --keep takes many",
        hint: "leave one of them out; with --keep each transfer has a code of its own")
    }
    owners = arguments.has("--owners")
    setIDBits = arguments.has("--set-id-bits")
    existing = try arguments.existing()
    mostBytes = try arguments.size("--max-size")
    if app != nil, existing != nil {
      throw .usage("--existing is for folders only", hint: "an app's data that is there is set aside with --replace")
    }
    if app != nil, owners || setIDBits {
      throw .usage("\(owners ? "--owners" : "--set-id-bits") is for folders only", .receive)
    }
    listen = try arguments.hostAndPort(
      "--listen", hint: "write --listen PORT, or --listen HOST:PORT", by: HostAndPort.parseListening)
    from = try arguments.ranges("--from")
    isAnnounced = !arguments.has("--no-announce")
    label = try arguments.label()
    giveUpAfter = try arguments.patience()
    isVerbose = arguments.has("--verbose")
    json = arguments.has("--json")
  }
}
