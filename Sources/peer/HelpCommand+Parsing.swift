import MigrationEngine
import MigrationTransfer
import MigrationWire

extension Command {
  /// Understands what stands behind `peer help`.
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
      throw .usage("'peer help' takes one command at most", hint: "run 'peer help' to see which there are")
    }
    return verb
  }

  /// A word that stands where a command should, and is none.
  static func unknown(_ word: String) -> TransferFailure {
    let all = "run 'peer --help' to see what there is"
    if word.hasPrefix("-") {
      let name = word.prefix { $0 != "=" }
      if let verb = Verb.allCases.first(where: { $0.options.contains { $0.name == name } }) {
        return .usage(
          "'\(word)' stands before the command", hint: "write the command first, as in 'peer \(verb.rawValue) \(word)'")
      }
      let close = Suggestion.closest(to: word, among: Overview.options.map(\.name))
      return .usage("peer has no option '\(word)'", hint: close.map { "did you mean \($0)?" } ?? all)
    }
    let close = Suggestion.closest(to: word, among: Verb.allCases.map(\.rawValue))
    return .usage("peer has no command '\(word)'", hint: close.map { "did you mean 'peer \($0)'?" } ?? all)
  }
}

extension Shell {
  /// Understands what stands behind `peer completion`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    let names = Self.allCases.map(\.rawValue)
    let hint = "write one of \(names.joined(separator: ", ")), as in 'peer completion \(names[0])'"
    guard let word = arguments.operands.first else { throw .usage("'peer completion' needs the shell", hint: hint) }
    guard arguments.operands.count == 1 else {
      throw .usage(
        "'peer completion' takes one shell, and \(VisibleText.quoted(arguments.operands[1])) is a second one",
        hint: hint)
    }
    guard let shell = Self.allCases.first(where: { Array($0.rawValue.utf8) == word }) else {
      throw .usage("'peer completion' does not know \(VisibleText.quoted(word))", hint: hint)
    }
    self = shell
  }
}
