/// The one filter through which text from elsewhere is shown (Protocol §10): names, labels, messages.
package enum VisibleText {
  /// Bytes that may not be UTF-8, made safe to show: what is invisible, misleading or invalid becomes an escape.
  package static func of(_ bytes: some Sequence<UInt8>) -> String {
    Decoding(Array(bytes)).map { part in
      switch part {
      case .scalar(let scalar): of(scalar)
      case .byte(let byte): escape(byte: byte)
      }
    }.joined()
  }

  /// Text, made safe to show.
  package static func of(_ text: String) -> String { of(text.utf8) }

  /// A message in the other end's words. Names in it are escaped already, so that its backslashes stay as they are.
  package static func message(_ text: String) -> String {
    text.unicodeScalars.map { $0 == "\\" ? "\\" : of($0) }.joined()
  }

  /// A path within an archive, made safe to show.
  package static func of(_ path: ArchivePath) -> String { of(path.bytes) }

  private static func of(_ scalar: Unicode.Scalar) -> String {
    if scalar == "\\" { return "\\\\" }
    guard isUnsafe(scalar) else { return String(Character(scalar)) }
    switch scalar {
    case "\n": return "\\n"
    case "\t": return "\\t"
    case "\r": return "\\r"
    default: return "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0xAD, 0x061C, 0x115F, 0x1160, 0x180B...0x180F, 0x3164, 0xFEFF, 0xFFA0: true
    // Zero width, direction, separators, invisible operators.
    case 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F: true
    case 0xFFF0...0xFFFB, 0xFE00...0xFE0F, 0xE0000...0xE0FFF: true
    default:
      scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .unassigned
        || scalar.properties.generalCategory == .privateUse
    }
  }

  private static func escape(byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return "\\x" + (digits.count < 2 ? "0" : "") + digits
  }

  /// Bytes as the scalars that they are in UTF-8, and one by one where they are not.
  struct Decoding: Sequence, IteratorProtocol {
    enum Part {
      case scalar(Unicode.Scalar)
      case byte(UInt8)
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func next() -> Part? {
      guard let first = rest.first else { return nil }
      guard let (scalar, length) = Self.decode(rest) else {
        rest = rest.dropFirst()
        return .byte(first)
      }
      rest = rest.dropFirst(length)
      return .scalar(scalar)
    }

    /// The scalar at the start, nil where the bytes are not valid UTF-8.
    private static func decode(_ bytes: ArraySlice<UInt8>) -> (Unicode.Scalar, Int)? {
      guard let first = bytes.first else { return nil }
      let length =
        switch first {
        case 0..<0x80: 1
        case 0xC2..<0xE0: 2
        case 0xE0..<0xF0: 3
        case 0xF0..<0xF5: 4
        default: 0
        }
      guard length > 0, bytes.count >= length,
        let text = String(validating: bytes.prefix(length), as: UTF8.self), let scalar = text.unicodeScalars.first
      else { return nil }
      return (scalar, length)
    }
  }
}
