/// Breaks text into lines.
enum TextWrapping {
  /// How wide a terminal is at least.
  static let columns = 80

  /// The words of a text, which no line break divides. A command in quotes is one, and has blanks in it.
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

  /// Lines of at most `columns`, as full as they can be.
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

  /// The same of a text, with blanks in front of each line.
  static func paragraph(_ text: String, indent: Int = 0) -> String {
    let margin = String(repeating: " ", count: indent)
    return lines(words(text), columns: columns - indent).map { margin + $0 + "\n" }.joined()
  }

  /// The same, with a label in front of the first line and blanks in front of the others.
  static func hanging(_ label: String, _ words: [String]) -> String {
    let lines = lines(words, columns: columns - label.count)
    let margin = String(repeating: " ", count: label.count)
    return zip(lines.indices, lines).map { ($0 == 0 ? label : margin) + $1 + "\n" }.joined()
  }

  private static func isOpening(_ word: String) -> Bool { word.drop { $0 == "(" }.hasPrefix("'peer") }
}
