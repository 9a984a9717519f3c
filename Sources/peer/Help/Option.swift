/// One option of a command.
struct Option: Equatable, Sendable {
  /// As it is typed, dashes included.
  let name: String
  /// A short name that can be typed in its place.
  let short: String?
  /// What its value is called; nil for an option that takes none.
  let value: String?
  /// What its value is.
  let kind: ValueKind
  /// Whether it may be given more than once.
  let isRepeatable: Bool
  /// What it does, in sentences. The first clause of the first one must be enough where there is little room.
  let text: String

  private init(
    _ name: String, short: String? = nil, _ value: String?, _ kind: ValueKind, isRepeatable: Bool, _ text: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.kind = kind
    self.isRepeatable = isRepeatable
    self.text = text
  }

  /// An option without a value.
  static func flag(_ name: String, short: String? = nil, _ text: String) -> Option {
    Option(name, short: short, nil, .text, isRepeatable: false, text)
  }

  /// An option with a value.
  static func value(_ name: String, _ value: String, _ kind: ValueKind, _ text: String) -> Option {
    Option(name, value, kind, isRepeatable: false, text)
  }

  /// An option with a value for which nothing can be offered.
  static func value(_ name: String, _ value: String, _ text: String) -> Option {
    Option(name, value, .text, isRepeatable: false, text)
  }

  /// An option with a value that may be given more than once.
  static func repeatable(_ name: String, _ value: String, _ kind: ValueKind, _ text: String) -> Option {
    Option(name, value, kind, isRepeatable: true, text)
  }

  /// The same with a value for which nothing can be offered.
  static func repeatable(_ name: String, _ value: String, _ text: String) -> Option {
    Option(name, value, .text, isRepeatable: true, text)
  }

  /// The option and what its value is called: `--limit RATE`.
  var spelling: String { value.map { "\(name) \($0)" } ?? name }

  /// Both names, the short one first.
  var names: [String] { [short, name].compactMap(\.self) }

  /// The words of which its value must be one; none where it may be another.
  var choices: [ValueKind.Choice] { if case .choice(let choices) = kind { choices } else { [] } }

  /// Those words as a part of a sentence: "auto, always or never".
  var choicesInWords: String {
    let words = choices.map(\.word)
    return words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
  }

  /// What it does, in a few words.
  var brief: String { Self.brief(text) }

  /// The first clause of a text.
  static func brief(_ text: String) -> String {
    let text = TextWrapping.words(text).joined(separator: " ")
    let end = text.indices.first { mark in
      let rest = text[mark...]
      // A number in brackets is a part of a name.
      if rest.hasPrefix(" (") { return rest.dropFirst(2).first?.isNumber == false }
      return [". ", "; ", ": "].contains { rest.hasPrefix($0) }
    }
    let clause = text[..<(end ?? text.endIndex)]
    return String(clause.last == "." ? clause.dropLast() : clause)
  }
}

extension Option {
  static let help = help("Show the help text.")

  /// The option that shows a help text, where more is to be said of it.
  static func help(_ text: String) -> Option { flag("--help", short: "-h", text) }

  static let json = flag("--json", "Report to a program: one JSON object a line, on standard output.")
}
