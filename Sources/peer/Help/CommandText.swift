/// A command's description as part of a manual page.
struct CommandText {
  private let verb: Verb
  private let description: CommandDescription
  private let placeholders: Set<String>

  init(_ verb: Verb) {
    self.verb = verb
    description = verb.description
    placeholders = description.placeholders
  }

  /// The description itself.
  var blocks: String {
    description.blocks.map { block in
      switch block {
      case .text(let text): Roff.prose(text, placeholders: placeholders)
      case .lines(let lines): Roff.example(lines)
      }
    }.joined(separator: ".PP\n")
  }

  /// The options with their descriptions.
  var options: String { Self.list(description.options, placeholders: placeholders) }

  /// The whole description, for a page with several commands.
  var whole: String {
    let forms = Self.synopsis("peer \(verb.rawValue)", description.synopsis)
    return forms + ".PP\n" + blocks + options
  }

  /// The forms of a command line, with the same words as in help texts.
  static func synopsis(_ command: String, _ forms: [[String]]) -> String {
    forms.map { words in
      let words = words.map { Roff.commandLine($0.split(separator: " ").map(String.init)) + "\n" }
      return ".SY \"\(Roff.escaped(command))\"\n" + words.joined() + ".YS\n.nh\n"
    }.joined()
  }

  static func list(_ options: [Option], placeholders: Set<String>) -> String {
    options.map { option in
      let short = option.short.map { Roff.bold($0) + ", " } ?? ""
      let label =
        short + ([Roff.bold(option.name)] + (option.value.map { [Roff.syntax($0)] } ?? [])).joined(separator: " ")
      return ".TP\n\(label)\n" + Roff.prose(option.text, placeholders: placeholders)
        + choices(option.choices, placeholders)
    }.joined()
  }

  /// The exit codes, one below the other.
  static func table(_ codes: ExitCodes) -> String {
    let rows = codes.codes.map { code in
      ".TP\n\(Roff.bold(String(code.number)))\n"
        + Roff.prose(code.meaning + (code.isKept ? " *" : ""), placeholders: [])
    }
    return rows.joined() + (codes.isTable ? ".PP\n" + Roff.prose("* " + ExitCodes.kept, placeholders: []) : "")
  }

  private static func choices(_ choices: [ValueKind.Choice], _ placeholders: Set<String>) -> String {
    guard !choices.isEmpty else { return "" }
    let rows = choices.map { ".TP\n\(Roff.bold($0.word))\n" + Roff.prose($0.text, placeholders: placeholders) }
    return ".RS\n" + rows.joined() + ".RE\n"
  }
}

extension CommandDescription {
  /// The upper-case words in its forms and options: placeholders wherever they appear.
  var placeholders: Set<String> {
    let words = synopsis.joined() + options.compactMap(\.value)
    return Set(words.flatMap { $0.split { !$0.isUppercase }.map(String.init) })
  }
}
