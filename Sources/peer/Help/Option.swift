/// One option of a command.
struct Option: Equatable, Sendable {
  /// The name as it is typed, dashes included.
  let name: String
  /// A short name that can be typed instead.
  let short: String?
  /// The name of its value in help texts; nil for an option without a value.
  let value: String?
  /// The kind of its value.
  let kind: ValueKind
  /// Whether it may be repeated.
  let isRepeatable: Bool
  /// Its effect, in sentences. Where there is little room, only the first clause is shown.
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

  /// An option with a value for which a shell offers nothing.
  static func value(_ name: String, _ value: String, _ text: String) -> Option {
    Option(name, value, .text, isRepeatable: false, text)
  }

  /// An option with a value that may be repeated.
  static func repeatable(_ name: String, _ value: String, _ kind: ValueKind, _ text: String) -> Option {
    Option(name, value, kind, isRepeatable: true, text)
  }

  /// A repeatable option with a value for which a shell offers nothing.
  static func repeatable(_ name: String, _ value: String, _ text: String) -> Option {
    Option(name, value, .text, isRepeatable: true, text)
  }

  /// The option and the name of its value: `--limit RATE`.
  var spelling: String { value.map { "\(name) \($0)" } ?? name }

  /// Both names, the short one first.
  var names: [String] { [short, name].compactMap(\.self) }

  /// The words that its value may be; empty if it may be another word.
  var choices: [ValueKind.Choice] { if case .choice(let choices) = kind { choices } else { [] } }

  /// Those words as a part of a sentence: "auto, always or never".
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
