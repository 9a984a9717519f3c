import MigrationEngine
import MigrationTransfer
import MigrationWire

extension TransferFailure {
  /// Behind a group of commands stands none of them.
  static func noCommand(of group: Verb, _ arguments: Arguments) -> TransferFailure {
    guard let word = arguments.operands.first else {
      return .usage(
        "'peer \(group.rawValue)' needs a command behind it",
        hint: "run 'peer \(group.rawValue) --help' to see which there are")
    }
    return .unknown(VisibleText.of(word), in: group)
  }

  /// A word behind a group of commands that is none of them.
  static func unknown(_ word: String, in group: Verb) -> TransferFailure {
    let close = Suggestion.closest(to: word, among: group.members.map(\.name))
    return .usage(
      "'peer \(group.rawValue)' has no command '\(word)'",
      hint: close.map { "did you mean 'peer \(group.rawValue) \($0)'?" }
        ?? "run 'peer \(group.rawValue) --help' to see which there are")
  }
}
