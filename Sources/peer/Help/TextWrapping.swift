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
