import MigrationWire

/// The command line of this process, to be pasted.
enum CommandLineText {
  /// The command line for another run: a code works once, and so does a file with one.
  static func again(_ words: [[UInt8]]) -> String {
    let option = Array("--code-file".utf8)
    var (rest, isValue) = ([[UInt8]](), false)
    for word in words {
      if !isValue, word != option, !word.starts(with: option + [UInt8(ascii: "=")]) { rest.append(word) }
      isValue = !isValue && word == option
    }
    return of(rest)
  }

  /// The program's name and its words, each quoted where a shell would change it.
  static func of(_ words: [[UInt8]]) -> String {
    (["peer"] + words.map(quoted)).joined(separator: " ")
  }

  /// A name that begins with a dash is quoted in lists, an option is not.
  private static func quoted(_ word: [UInt8]) -> String {
    let name = word.drop { $0 == UInt8(ascii: "-") }
    let isPlain = !name.isEmpty && VisibleText.listed(name) == String(decoding: name, as: UTF8.self)
    return isPlain ? String(decoding: word, as: UTF8.self) : VisibleText.listed(word)
  }
}
