/// Text in the language of manual pages, man(7).
///
/// Each `-` is written as `\-`, so that a reader can copy it from the page.
enum Roff {
  /// The longest line of the source.
  private static let columns = 78

  /// The text with all special characters escaped.
  static func escaped(_ text: some StringProtocol) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "'": escaped += "\\(aq"
      case "`": escaped += "\\(ga"
      case "\"": escaped += "\\(dq"
      case "^": escaped += "\\(ha"
      case "~": escaped += "\\(ti"
      default: escaped.append(character)
      }
    }
    return escaped
  }

  static func bold(_ text: some StringProtocol) -> String { "\\fB\(escaped(text))\\fR" }

  /// A word of a command line: options are bold, placeholders are italic, brackets and dots are
  /// neither.
  static func syntax(_ text: String) -> String {
    runs(text).map { run in
      if run.first?.isUppercase == true { return "\\fI\(escaped(run))\\fR" }
      return isLower(run) ? bold(run) : escaped(run)
    }.joined()
  }

  /// Sentences, each on its own line.
  static func prose(_ text: String) -> String {
    var lines: [String] = []
    var sentence: [String] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      sentence.append(escaped(word))
      guard word.last == "." else { continue }
      lines += TextWrapping.lines(sentence, columns: columns)
      sentence = []
    }
    lines += TextWrapping.lines(sentence, columns: columns)
    return lines.map { guarded($0) + "\n" }.joined()
  }

  /// Lines that are shown unchanged.
  static func example(_ lines: String) -> String {
    let lines = lines.split(separator: "\n", omittingEmptySubsequences: false)
    return ".EX\n" + lines.map { guarded(escaped($0)) + "\n" }.joined() + ".EE\n"
  }

  /// A line of text, protected so that man(7) does not take its start for a request.
  static func guarded(_ line: String) -> String {
    line.first == "." || line.first == "'" ? "\\&" + line : line
  }

  /// A line of a command, protected so that its dots do not end a sentence.
  static func commandLine(_ words: [String]) -> String {
    let line = guarded(words.map(syntax).joined(separator: "\\ "))
    return line.last == "." ? line + "\\&" : line
  }

  private static func isLower(_ run: Substring) -> Bool { run.first.map { $0.isLowercase || $0 == "-" } ?? false }

  /// The text in runs of upper-case letters, of lower-case letters and dashes, and of other
  /// characters.
  private static func runs(_ text: String) -> [Substring] {
    func kind(_ character: Character) -> Int {
      if character.isUppercase || character == "_" { return 0 }
      return character.isLowercase || character == "-" ? 1 : 2
    }
    var runs: [Substring] = []
    for index in text.indices {
      if let last = runs.last?.last, kind(last) == kind(text[index]) {
        runs[runs.count - 1] = text[runs[runs.count - 1].startIndex...index]
      } else {
        runs.append(text[index...index])
      }
    }
    return runs
  }
}
