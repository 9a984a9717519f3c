/// A command's description as a part of a manual page.
struct CommandText {
  private let verb: Verb
  private let description: CommandDescription
  private let placeholders: Set<String>

  init(_ verb: Verb) {
    self.verb = verb
    description = verb.description
    placeholders = description.placeholders
  }

  /// What it does.
  var blocks: String {
    description.blocks.map { block in
      switch block {
      case .text(let text): Roff.prose(text, placeholders: placeholders)
      case .lines(let lines): Roff.example(lines)
      }
    }.joined(separator: ".PP\n")
  }

  /// What each option does.
  var options: String { Self.list(description.options, placeholders: placeholders) }

  /// All of it, where it is one command of several on a page.
  var whole: String {
    let forms = Self.synopsis("peer \(verb.rawValue)", description.synopsis)
    return forms + ".PP\n" + blocks + options
  }

  /// The forms of a command line; the words behind the command are as they are in help texts.
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

  /// Exit codes, one below the other.
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
  /// The upper-case words in its forms and options, which stand for something else wherever they are written.
  var placeholders: Set<String> {
    let words = synopsis.joined() + options.compactMap(\.value)
    return Set(words.flatMap { $0.split { !$0.isUppercase }.map(String.init) })
  }
}
