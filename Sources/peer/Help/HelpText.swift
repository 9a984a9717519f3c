import MigrationWire

/// The help texts, made from the descriptions for a terminal of eighty columns.
enum HelpText {
  /// The text for a command, or for the whole program.
  static func of(_ topic: Verb?) -> String { topic.map(text) ?? overview }

  private static var overview: String {
    let usages: [(usage: String, summary: String)] = Overview.commands.map {
      ($0.description.usage, $0.description.summary)
    }
    return """
      Usage:
      \(list(usages + [("--version [--verbose]", "show the version; what an error report needs")]))
      \(TextWrapping.paragraph(Overview.text))
      Example:
      \(Overview.example)

      \(TextWrapping.paragraph(Overview.resuming))'peer help COMMAND' describes the options and exit codes of a command.

      """
  }

  private static func text(_ verb: Verb) -> String {
    let description = verb.description
    let parts = [usage(verb)] + description.blocks.map(block) + [options(description.options), ending(verb)]
    return parts.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  private static func usage(_ verb: Verb) -> String {
    let members = verb.members.map { ($0.description.usage, $0.description.summary) }
    guard members.isEmpty else { return "Usage:\n" + list(members) }
    return "Usage:\n" + verb.description.forms.map { TextWrapping.hanging("  peer \(verb.rawValue) ", $0) }.joined()
  }

  /// Commands with their summaries.
  private static func list(_ rows: [(usage: String, summary: String)]) -> String {
    rows.map { "  peer \($0.usage.padded(to: 26)) \($0.summary)\n" }.joined()
  }

  private static func block(_ block: CommandDescription.Block) -> String {
    switch block {
    case .text(let text): TextWrapping.paragraph(text)
    case .lines(let lines): lines + "\n"
    }
  }

  private static func options(_ options: [Option]) -> String {
    // The column behind a very long label is narrower.
    let width = min(options.map { label($0).count + 2 }.max() ?? 0, 22)
    return "Options:\n" + options.map { describe($0, width: width) }.joined()
  }

  private static func label(_ option: Option) -> String {
    (option.short.map { "\($0), " } ?? "") + option.spelling
  }

  private static func describe(_ option: Option, width: Int) -> String {
    let margin = String(repeating: " ", count: width + 2)
    let first = "  " + label(option).padded(to: width - 1) + " "
    let text = TextWrapping.hanging(first, TextWrapping.words(option.text))
    let choices = option.choices.map { TextWrapping.paragraph("\($0.word): \($0.text)", indent: margin.count) }
    return text + choices.joined()
  }

  private static func ending(_ verb: Verb) -> String {
    let description = verb.description
    var parts: [String] = []
    if !description.examples.isEmpty {
      let title = description.examples.count > 1 ? "Examples:\n" : "Example:\n"
      parts.append(title + description.examples.map { "  $ \($0)\n" }.joined())
    }
    if verb.members.isEmpty { parts.append(describe(description.exitCodes ?? .usual)) }
    if verb == .app { parts.append("'peer help app install', for example, describes one of these commands.\n") }
    return parts.joined(separator: "\n")
  }

  private static func describe(_ codes: ExitCodeTable) -> String {
    guard codes.isTable else { return TextWrapping.paragraph("Exit codes: " + codes.sentence) }
    let rows = codes.codes.map { code in
      TextWrapping.hanging(
        "  " + Figures.padded(String(code.number), to: 3) + "  ",
        TextWrapping.words(code.meaning + (code.isKept ? " *" : "")))
    }
    return "Exit codes:\n" + rows.joined() + "  * \(ExitCodeTable.kept)\n"
  }
}

extension String {
  /// The text, followed by blanks up to a width.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// Breaks text into lines.
enum TextWrapping {
  /// The columns of the narrowest terminal.
  static let columns = 80

  /// The words of a text, which are never divided. A quoted command with blanks is one word.
  static func words(_ text: String) -> [String] {
    var words: [String] = []
    var quoted: [String] = []
    for word in text.split(whereSeparator: \.isWhitespace).map(String.init) {
      if quoted.isEmpty, !isOpening(word) {
        words.append(word)
        continue
      }
      quoted.append(word)
      if quoted.reduce(0, { $0 + $1.count { $0 == "'" } }) > 1 {
        words.append(quoted.joined(separator: " "))
        quoted = []
      }
    }
    return words + quoted
  }

  /// The words in lines of at most `columns`, as full as possible.
  static func lines(_ words: [String], columns: Int) -> [String] {
    var lines: [String] = []
    for word in words {
      if let last = lines.last, last.count + 1 + word.count <= columns {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(word)
      }
    }
    return lines
  }

  /// The text in lines, with an indent.
  static func paragraph(_ text: String, indent: Int = 0) -> String {
    let margin = String(repeating: " ", count: indent)
    return lines(words(text), columns: columns - indent).map { margin + $0 + "\n" }.joined()
  }

  /// The text in lines; a label is before the first line, and blanks are before the others.
  static func hanging(_ label: String, _ words: [String]) -> String {
    let lines = lines(words, columns: columns - label.count)
    let margin = String(repeating: " ", count: label.count)
    return zip(lines.indices, lines).map { ($0 == 0 ? label : margin) + $1 + "\n" }.joined()
  }

  private static func isOpening(_ word: String) -> Bool { word.drop { $0 == "(" }.hasPrefix("'peer") }
}
