import MigrationEngine
import MigrationTransfer
import MigrationWire

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
