extension VisibleText {
  /// A name in quotes, in the form that a shell reads. A user who pastes it with its quotes names
  /// exactly that file: the shell expands and runs no part of it, and takes none for the end of the
  /// name.
  ///
  /// `'a name'` where every character can stand for itself, `$'a\nname'` where one cannot.
  package static func quoted(_ name: some Sequence<UInt8>) -> String {
    let bytes = Array(name)
    let scalars = Decoding(bytes)
    let isPlain = scalars.allSatisfy { part in
      if case .scalar(let scalar) = part { scalar != "'" && scalar != "\\" && !isUnsafe(scalar) } else { false }
    }
    guard !isPlain else { return "'" + String(decoding: bytes, as: UTF8.self) + "'" }
    var shown = Array("$'".utf8)
    for part in scalars { appendANSI(part, to: &shown) }
    return String(decoding: shown, as: UTF8.self) + "'"
  }

  /// A text in quotes, as a name would be.
  package static func quoted(_ text: String) -> String { quoted(text.utf8) }

  /// A path within an archive in quotes.
  package static func quoted(_ path: ArchivePath) -> String { quoted(path.bytes) }

  /// A name in a list or a table: in quotes unless it is one plain word, so that it neither hides
  /// where the next one begins nor means anything to a shell.
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

  /// Appends one part as it stands within `$'…'`.
  private static func appendANSI(_ part: Decoding.Part, to shown: inout [UInt8]) {
    switch part {
    case .byte(let byte): appendEscape("\\x", UInt32(byte), 2, to: &shown)
    case .scalar(let scalar):
      switch scalar {
      case "\n": shown += "\\n".utf8
      case "\t": shown += "\\t".utf8
      case "\r": shown += "\\r".utf8
      case "\\": shown += "\\\\".utf8
      case "'": shown += "\\'".utf8
      // Interactive shells look for earlier commands before they look at such quotes.
      case "!": shown += "\\x21".utf8
      case _ where !isUnsafe(scalar): appendAsItIs(scalar, to: &shown)
      case _ where scalar.isASCII: appendEscape("\\x", scalar.value, 2, to: &shown)
      case _ where scalar.value > 0xFFFF: appendEscape("\\U", scalar.value, 8, to: &shown)
      default: appendEscape("\\u", scalar.value, 4, to: &shown)
      }
    }
  }

  private static func appendEscape(_ start: String, _ value: UInt32, _ digits: Int, to shown: inout [UInt8]) {
    shown += start.utf8
    appendHexadecimal(value, digits: digits, to: &shown)
  }
}
