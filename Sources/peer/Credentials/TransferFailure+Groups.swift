import MigrationEngine
import MigrationTransfer
import MigrationWire

extension TransferFailure {
  /// A group of commands without a command, or with an unknown one.
  static func noCommand(of group: Verb, _ arguments: Arguments) -> TransferFailure {
    guard let word = arguments.operands.first else {
      return .usage(
        "missing command after 'peer \(group.rawValue)'",
        hint: "run 'peer \(group.rawValue) --help' to list the commands")
    }
    return .unknown(VisibleText.of(word), in: group)
  }

  /// An unknown command of a group.
  static func unknown(_ word: String, in group: Verb) -> TransferFailure {
    let close = Suggestion.closest(to: word, among: group.members.map(\.name))
    return .usage(
      "unknown command 'peer \(group.rawValue) \(word)'",
      hint: close.map { "did you mean 'peer \(group.rawValue) \($0)'?" }
        ?? "run 'peer \(group.rawValue) --help' to list the commands")
  }
}
