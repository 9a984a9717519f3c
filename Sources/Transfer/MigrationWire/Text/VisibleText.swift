/// The filter for all text from elsewhere that is shown (Protocol §10): names, labels, messages.
package enum VisibleText {
  /// Bytes, made safe to show: invisible, misleading and invalid parts become escapes.
  package static func of(_ bytes: some Sequence<UInt8>) -> String {
    // The other device can send thousands of long names: each becomes one text, not one text for
    // each byte.
    var shown: [UInt8] = []
    for piece in Decoding(Array(bytes)) {
      switch piece {
      case .scalar("\\"): shown += "\\\\".utf8
      case .scalar(let scalar): append(scalar, to: &shown)
      case .byte(let byte):
        shown += "\\x".utf8
        appendHexadecimal(UInt32(byte), digits: 2, to: &shown)
      }
    }
    return String(decoding: shown, as: UTF8.self)
  }

  /// Text, made safe to show.
  package static func of(_ text: String) -> String { of(text.utf8) }

  /// A message of the other end. Names in it are escaped already, so its backslashes stay.
  package static func message(_ text: String) -> String {
    var shown: [UInt8] = []
    for scalar in text.unicodeScalars { append(scalar, to: &shown) }
    return String(decoding: shown, as: UTF8.self)
  }

  /// A message of the other end in quotation marks, with those inside it escaped.
  package static func said(_ text: String) -> String {
    var shown = [UInt8(ascii: "\"")]
    // Not by characters: a quotation mark with an accent is another character.
    for scalar in text.unicodeScalars {
      if scalar == "\"" { shown.append(UInt8(ascii: "\\")) }
      append(scalar, to: &shown)
    }
    return String(decoding: shown, as: UTF8.self) + "\""
  }

  /// A path within an archive, made safe to show.
  package static func of(_ path: ArchivePath) -> String { of(path.bytes) }

  private static func append(_ scalar: Unicode.Scalar, to shown: inout [UInt8]) {
    guard isUnsafe(scalar) else { return appendAsItIs(scalar, to: &shown) }
    switch scalar {
    case "\n": shown += "\\n".utf8
    case "\t": shown += "\\t".utf8
    case "\r": shown += "\\r".utf8
    default:
      shown += "\\u{".utf8
      appendHexadecimal(scalar.value, digits: 1, to: &shown)
      shown.append(UInt8(ascii: "}"))
    }
  }

  /// Appends a scalar in UTF-8.
  package static func appendAsItIs(_ scalar: Unicode.Scalar, to shown: inout [UInt8]) {
    if scalar.isASCII { shown.append(UInt8(truncatingIfNeeded: scalar.value)) } else { shown += scalar.utf8 }
  }

  /// Appends a number in hexadecimal, with at least `digits` digits.
  package static func appendHexadecimal(_ value: UInt32, digits: Int, to shown: inout [UInt8]) {
    var place = max(digits, (35 - value.leadingZeroBitCount) / 4)
    while place > 0 {
      place -= 1
      let digit = UInt8(truncatingIfNeeded: value >> (4 * UInt32(place)) & 15)
      shown.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  /// Whether a scalar must be escaped.
  package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20..<0x7F: false
    case 0..<0x20, 0x7F...0xA0: true
    case 0xAD, 0x061C, 0x115F, 0x1160, 0x1680, 0x180B...0x180F, 0x3000, 0x3164, 0xFEFF, 0xFFA0: true
    // Blanks, zero width, direction, separators, invisible operators.
    case 0x2000...0x200F, 0x2028...0x202F, 0x205F...0x206F, 0x2800, 0x1D159: true
    case 0xFFF0...0xFFFB, 0xFE00...0xFE0F, 0xE0000...0xE0FFF: true
    default:
      scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .unassigned
        || scalar.properties.generalCategory == .privateUse
    }
  }

  /// The scalars of valid UTF-8, and the single bytes of everything else.
  struct Decoding: Sequence, IteratorProtocol {
    enum Piece {
      case scalar(Unicode.Scalar)
      case byte(UInt8)
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Piece? {
      guard position < bytes.count else { return nil }
      let first = bytes[position]
      guard let (scalar, length) = decode(first) else {
        position += 1
        return .byte(first)
      }
      position += length
      return .scalar(scalar)
    }

    /// The scalar that begins with a byte, nil where the bytes are not valid UTF-8.
    private func decode(_ first: UInt8) -> (Unicode.Scalar, Int)? {
      let (length, least): (Int, UInt32)
      switch first {
      case 0..<0x80: return (Unicode.Scalar(first), 1)
      case 0xC2..<0xE0: (length, least) = (2, 0x80)
      case 0xE0..<0xF0: (length, least) = (3, 0x800)
      case 0xF0..<0xF5: (length, least) = (4, 0x1_0000)
      default: return nil
      }
      guard bytes.count - position >= length else { return nil }
      var value = UInt32(first) & (0x7F >> UInt32(length))
      for byte in bytes[position + 1..<position + length] {
        guard byte & 0xC0 == 0x80 else { return nil }
        value = value << 6 | UInt32(byte & 0x3F)
      }
      // Surrogates, and values above the last scalar, are not scalars.
      guard value >= least, let scalar = Unicode.Scalar(value) else { return nil }
      return (scalar, length)
    }
  }

  /// A name in quotes for a shell: pasted with them, it names exactly this file, and the shell
  /// expands no part of it.
  ///
  /// `'a name'` where every character can stand for itself, `$'a\nname'` where one cannot.
  package static func quoted(_ name: some Sequence<UInt8>) -> String {
    let bytes = Array(name)
    let scalars = Decoding(bytes)
    let isPlain = scalars.allSatisfy { piece in
      if case .scalar(let scalar) = piece { scalar != "'" && scalar != "\\" && !isUnsafe(scalar) } else { false }
    }
    guard !isPlain else { return "'" + String(decoding: bytes, as: UTF8.self) + "'" }
    var shown = Array("$'".utf8)
    for piece in scalars { appendANSI(piece, to: &shown) }
    return String(decoding: shown, as: UTF8.self) + "'"
  }

  /// A text in the same quotes.
  package static func quoted(_ text: String) -> String { quoted(text.utf8) }

  /// A path within an archive in the same quotes.
  package static func quoted(_ path: ArchivePath) -> String { quoted(path.bytes) }

  /// A name in a list or a table, in quotes unless it is one plain word.
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

  /// Appends one part in the form of `$'…'`.
  private static func appendANSI(_ piece: Decoding.Piece, to shown: inout [UInt8]) {
    switch piece {
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

extension UInt8 {
  /// Whether it is an ASCII letter or digit.
  package var isLetterOrDigit: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
