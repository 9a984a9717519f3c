/// The description of a command, and its only source: the parser's options, the help text, the
/// manual page and the completions are made from it.
struct CommandDescription: Sendable {
  /// A part of the description.
  enum Block: Sendable {
    /// Text that is wrapped when it is shown. Placeholders are upper-case; commands are quoted:
    /// 'peer app list'.
    case text(String)
    /// Lines that are shown unchanged.
    case lines(String)
  }

  /// The command in overviews, with its most important operands.
  let usage: String
  /// Its purpose, as a clause without a full stop.
  let summary: String
  /// The ways to write it: the words behind the command; an option and its value are one word.
  let forms: [[String]]
  /// The operands that it takes, in their order. The last one may repeat.
  var operands: [Operand] = []
  let blocks: [Block]
  var options: [Option] = []
  /// Command lines, without a prompt.
  var examples: [String] = []
  /// Nil for a command with the usual ones.
  var exitCodes: ExitCodeTable?
}

/// A word that a command takes beside its options.
struct Operand: Sendable {
  let value: ValueKind
  var isRepeatable = false
}

/// The kind of a value, which decides what a shell offers for it.
enum ValueKind: Equatable, Sendable {
  /// One of a few words.
  struct Choice: Equatable, Sendable {
    let word: String
    /// Its meaning, as a sentence.
    let text: String
  }

  /// A time, a name, a number: the shell offers nothing.
  case text
  case file
  case directory
  /// A file or a directory.
  case path
  case choice([Choice])
  /// Any word; the shell offers these.
  case word([Choice])
  /// The identifier of an app that is installed here.
  case app
  /// An owner of credentials.
  case owner
  /// The ID of an unfinished transfer.
  case transfer
  /// The address of a waiting device.
  case device
  /// A device that needs no code.
  case knownDevice
  /// The name of something that `peer send --everything` moves.
  case entry
  /// The words of a command, as after `peer help`.
  case command
}

/// One option of a command.
struct Option: Equatable, Sendable {
  /// The name as it is typed, dashes included.
  let name: String
  /// A short name that can be typed instead.
  var short: String?
  /// The name of its value in help texts; nil for an option without a value.
  let value: String?
  /// The kind of its value.
  let kind: ValueKind
  /// Whether it may be repeated.
  var isRepeatable = false
  /// Its effect, in sentences. Where there is little room, only the first clause is shown.
  let text: String

  /// An option without a value.
  static func flag(_ name: String, short: String? = nil, _ text: String) -> Option {
    Option(name: name, short: short, value: nil, kind: .text, text: text)
  }

  /// An option with a value.
  static func value(_ name: String, _ value: String, _ kind: ValueKind, _ text: String) -> Option {
    Option(name: name, value: value, kind: kind, text: text)
  }

  /// An option with a value for which a shell offers nothing.
  static func value(_ name: String, _ value: String, _ text: String) -> Option {
    Option(name: name, value: value, kind: .text, text: text)
  }

  /// An option with a value that may be repeated.
  static func repeatable(_ name: String, _ value: String, _ kind: ValueKind, _ text: String) -> Option {
    Option(name: name, value: value, kind: kind, isRepeatable: true, text: text)
  }

  /// A repeatable option with a value for which a shell offers nothing.
  static func repeatable(_ name: String, _ value: String, _ text: String) -> Option {
    Option(name: name, value: value, kind: .text, isRepeatable: true, text: text)
  }

  /// The option and the name of its value: `--limit RATE`.
  var spelling: String { value.map { "\(name) \($0)" } ?? name }

  /// Both names, the short one first.
  var names: [String] { [short, name].compactMap(\.self) }

  /// The words that its value may be; empty if it may be another word.
  var choices: [ValueKind.Choice] { if case .choice(let choices) = kind { choices } else { [] } }

  /// The choices as a part of a sentence: "auto, always or never".
  var choicesInWords: String {
    let words = choices.map(\.word)
    return words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
  }

  /// A few words that say what it does.
  var brief: String { Self.brief(text) }

  /// The first clause of a text.
  static func brief(_ text: String) -> String {
    let text = TextWrapping.words(text).joined(separator: " ")
    let end = text.indices.first { mark in
      let rest = text[mark...]
      // A number in brackets is part of a name.
      if rest.hasPrefix(" (") { return rest.dropFirst(2).first?.isNumber == false }
      return [". ", "; ", ": "].contains { rest.hasPrefix($0) }
    }
    let clause = text[..<(end ?? text.endIndex)]
    return String(clause.last == "." ? clause.dropLast() : clause)
  }
}

extension Option {
  static let help = help("Show the help text.")

  /// The option for the help text, with more to say about it.
  static func help(_ text: String) -> Option { flag("--help", short: "-h", text) }

  static let json = flag("--json", "Report in JSON on standard output, one object per line.")
}
