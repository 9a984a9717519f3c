import MigrationWire

/// Text in Swift's source code.
enum SwiftLiteral {
  /// The string literal of a text.
  static func of(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case _ where VisibleText.isUnsafe(scalar): literal += "\\u{\(String(scalar.value, radix: 16))}"
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }
}

/// Text in XML.
enum XMLText {
  /// The text between two tags.
  static func escaped(_ text: String) -> String {
    // This works on scalars: a combining mark after one of these characters makes another character
    // of it.
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      default: String(scalar)
      }
    }.joined()
  }
}

extension NewAppFile {
  /// Lines with imports, in the order of swift-format.
  static func imports(_ modules: String...) -> String {
    modules.sorted().map { "import \($0)" }.joined(separator: "\n")
  }
}
