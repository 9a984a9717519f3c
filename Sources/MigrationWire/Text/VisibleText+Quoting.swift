extension VisibleText {
  /// A name in quotes, in the form that a shell reads: whoever pastes it with its quotes names exactly that file, and nothing
  /// in it is expanded, run, or taken for the end of the name.
  ///
  /// `'a name'` where every character can stand for itself, `$'a\nname'` where one cannot.
  package static func quoted(_ name: some Sequence<UInt8>) -> String {
    let bytes = Array(name)
    let scalars = Decoding(bytes)
    let isPlain = scalars.allSatisfy { part in
      if case .scalar(let scalar) = part { scalar != "'" && scalar != "\\" && !isUnsafe(scalar) } else { false }
    }
    guard !isPlain else { return "'" + String(decoding: bytes, as: UTF8.self) + "'" }
    return "$'" + scalars.map(ansi).joined() + "'"
  }

  /// A text in quotes, as a name would be.
  package static func quoted(_ text: String) -> String { quoted(text.utf8) }

  /// A path within an archive in quotes.
  package static func quoted(_ path: ArchivePath) -> String { quoted(path.bytes) }

  /// A name in a list or a table: in quotes unless it is one plain word, so that it neither hides where the next one begins
  /// nor means anything to a shell.
  package static func listed(_ name: some Sequence<UInt8>) -> String {
    let bytes = Array(name)
    guard let text = String(validating: bytes, as: UTF8.self), let first = text.unicodeScalars.first,
      isWordPart(first) || first == "." || first == "/",
      text.unicodeScalars.allSatisfy({ isWordPart($0) || "./-+@".unicodeScalars.contains($0) })
    else { return quoted(bytes) }
    return text
  }

  private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    case _ where scalar.isASCII: false
    default: scalar.properties.isAlphabetic && !isUnsafe(scalar)
    }
  }

  /// One part as it stands within `$'…'`.
  private static func ansi(_ part: Decoding.Part) -> String {
    switch part {
    case .byte(let byte): return "\\x" + hexadecimal(UInt32(byte), 2)
    case .scalar(let scalar):
      switch scalar {
      case "\n": return "\\n"
      case "\t": return "\\t"
      case "\r": return "\\r"
      case "\\": return "\\\\"
      case "'": return "\\'"
      // Interactive shells look for earlier commands before they look at such quotes.
      case "!": return "\\x21"
      case _ where !isUnsafe(scalar): return String(Character(scalar))
      case _ where scalar.isASCII: return "\\x" + hexadecimal(scalar.value, 2)
      default:
        return scalar.value > 0xFFFF ? "\\U" + hexadecimal(scalar.value, 8) : "\\u" + hexadecimal(scalar.value, 4)
      }
    }
  }

  private static func hexadecimal(_ value: UInt32, _ digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: digits - text.count) + text
  }
}
