import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A parsed command line.
enum Command: Equatable, Sendable {
  case receive(ReceiveOptions)
  case send(SendOptions)
  /// Show the page on which people move to a new computer.
  case assistant(opensBrowser: Bool)
  /// List the waiting devices on the network.
  case discover(DiscoverOptions)
  /// Join other devices.
  case relay(RelayOptions)
  /// List the unfinished transfers.
  case resumeList(json: Bool)
  /// Forget the unfinished transfer whose identifier begins with these digits.
  case forget(String, json: Bool)
  case forgetOlder(than: Double, json: Bool)
  /// A command about known devices.
  case device(DeviceCommand, json: Bool)
  /// A command about the apps of this device.
  case app(AppCommand, json: Bool)
  /// Check a bundle for its author.
  case check(CheckOptions)
  /// Migrate an app's data on this device, for its author.
  case migrate(MigrateOptions)
  /// A command about the credentials of apps.
  case credentials(CredentialsCommand, json: Bool)
  /// A command about the recorded sign-in of users.
  case account(AccountCommand, json: Bool)
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
  /// The version; if verbose, with the facts that an error report needs.
  case version(isVerbose: Bool)
  /// An empty command line.
  case nothing
}

extension Command {
  /// Parses the words after the program's name.
  init(_ words: [[UInt8]]) throws(Failure) {
    guard let first = words.first else {
      self = .nothing
      return
    }
    let rest = Array(words.dropFirst())
    let word = VisibleText.of(first)
    switch word {
    case _ where word == Verb.help.rawValue || Overview.help.names.contains(word): self = try Self.help(rest)
    case "--version":
      let isVerbose = rest == [Array(Overview.verbose.name.utf8)]
      guard isVerbose || rest.isEmpty else {
        throw .usage(
          "--version takes no other arguments than --verbose",
          hint: "Run 'peer --version' or 'peer --version --verbose'.")
      }
      self = .version(isVerbose: isVerbose)
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
        let json = arguments.has("--json")
        switch verb {
        case .receive: self = .receive(try ReceiveOptions(arguments))
        case .send: self = .send(try SendOptions(arguments))
        case .assistant:
          try arguments.refuseOperands()
          self = .assistant(opensBrowser: !arguments.has("--no-browser"))
        case .discover: self = .discover(try DiscoverOptions(arguments))
        case .relay: self = .relay(try RelayOptions(arguments))
        case .resume: self = try Self.resume(arguments)
        case .forget where arguments.bytes("--older-than") != nil:
          self = .forgetOlder(than: try Self.age(arguments), json: json)
        case .forget: self = .forget(try Self.unfinished(arguments), json: json)
        case .device, .deviceList, .deviceName, .deviceForget:
          self = .device(try DeviceCommand(verb, arguments), json: json)
        case .codeNew:
          try arguments.refuseOperands()
          self = .newCode(file: try arguments.codeFile())
        case .code: throw .noCommand(of: .code, arguments)
        case .completion: self = .completion(try Shell(arguments))
        case .help: self = try Self.help(rest)
        case .appCheck: self = .check(try CheckOptions(arguments))
        case .appMigrate: self = .migrate(try MigrateOptions(arguments))
        case .app, .appInstall, .appList, .appRemove, .appRun, .appStatus, .appNew:
          self = .app(try AppCommand(verb, arguments), json: json)
        case .credentials, .credentialsList, .credentialsRemove:
          self = .credentials(try CredentialsCommand(verb, arguments), json: json)
        case .account, .accountAuthorize, .accountRevoke, .accountList:
          self = .account(try AccountCommand(verb, arguments), json: json)
        }
      }
    }
  }
}

extension Command {
  /// Parses the words after `peer help`.
  static func help(_ words: [[UInt8]]) throws(Failure) -> Command {
    let arguments = try Arguments(words, of: .help)
    if arguments.has("--help") { return .help(.help) }
    let topic = try topic(arguments.operands)
    return arguments.has("--man") ? .manual(ManualPage(of: topic)) : .help(topic)
  }

  private static func topic(_ words: [[UInt8]]) throws(Failure) -> Verb? {
    let words = words.map { VisibleText.of($0) }
    guard let first = words.first else { return nil }
    guard let verb = Verb(words) else { throw unknown(first) }
    guard words.count == verb.length else {
      if !verb.members.isEmpty { throw .unknown(words[1], in: verb) }
      throw .usage("too many arguments: 'peer help' takes one command", hint: "Run 'peer help' to list the commands.")
    }
    return verb
  }

  /// The failure for an unknown word in the place of a command.
  static func unknown(_ word: String) -> Failure {
    let all = "Run 'peer --help' to list the commands."
    if word.hasPrefix("-") {
      let name = word.prefix { $0 != "=" }
      if let verb = Verb.allCases.first(where: { $0.options.contains { $0.name == name } }) {
        return .usage(
          "the option \(word) must follow the command", hint: "Write 'peer \(verb.rawValue) \(word)'.")
      }
      let close = Suggestion.closest(to: word, among: Overview.options.map(\.name))
      return .usage("unknown option \(word)", hint: close.map { "Did you mean \($0)?" } ?? all)
    }
    let close = Suggestion.closest(to: word, among: Verb.allCases.map(\.rawValue))
    return .usage("unknown command '\(word)'", hint: close.map { "Did you mean 'peer \($0)'?" } ?? all)
  }
}

extension Failure {
  /// A group of commands without a command, or with an unknown one.
  static func noCommand(of group: Verb, _ arguments: Arguments) -> Failure {
    guard let word = arguments.operands.first else {
      return .usage(
        "missing command after 'peer \(group.rawValue)'",
        hint: "Run 'peer \(group.rawValue) --help' to list the commands.")
    }
    return .unknown(VisibleText.of(word), in: group)
  }

  /// An unknown command of a group.
  static func unknown(_ word: String, in group: Verb) -> Failure {
    let close = Suggestion.closest(to: word, among: group.members.map(\.name))
    return .usage(
      "unknown command 'peer \(group.rawValue) \(word)'",
      hint: close.map { "Did you mean 'peer \(group.rawValue) \($0)'?" }
        ?? "Run 'peer \(group.rawValue) --help' to list the commands.")
  }
}
