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

  /// Sentences, each on its own line; options, quoted commands and the placeholders are
  /// highlighted.
  static func prose(_ text: String, placeholders: Set<String>) -> String {
    var lines: [String] = []
    var sentence: [String] = []
    for word in TextWrapping.words(text) {
      // A command with blanks may be wrapped.
      sentence += self.word(word, placeholders).split(separator: " ").map(String.init)
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

  private static func word(_ word: String, _ placeholders: Set<String>) -> String {
    let opening = String(word.prefix { $0 == "(" })
    let rest = word.dropFirst(opening.count)
    if rest.hasPrefix("'peer"), let end = rest.dropFirst().firstIndex(of: "'") {
      let command = rest[..<end].dropFirst().split(separator: " ").map { self.command($0) }
      return opening + command.joined(separator: " ") + escaped(rest[end...].dropFirst())
    }
    let option = rest.prefix { $0.isLetter || $0 == "-" }
    if option.first == "-", option.contains(where: \.isLetter) {
      return opening + bold(option) + escaped(rest.dropFirst(option.count))
    }
    let runs = runs(word)
    return zip(runs.indices, runs).map { index, run in
      // Capitals within a word, as in Nothing and set-user-ID, are no placeholders.
      let isPart = (index > 0 && isLower(runs[index - 1])) || (index + 1 < runs.count && isLower(runs[index + 1]))
      return !isPart && placeholders.contains(String(run)) ? "\\fI\(run)\\fR" : escaped(run)
    }.joined()
  }

  private static func isLower(_ run: Substring) -> Bool { run.first.map { $0.isLowercase || $0 == "-" } ?? false }

  private static func command(_ word: Substring) -> String {
    word.allSatisfy(\.isUppercase) ? "\\fI\(word)\\fR" : bold(word)
  }

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
