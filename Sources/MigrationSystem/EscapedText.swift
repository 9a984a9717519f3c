/// Converts bytes from the file system or from another device for display on one line of a
/// terminal.
package enum EscapedText {
  /// Printable UTF-8 is kept. Control characters, bytes that are not UTF-8, characters that reorder
  /// or hide text, and the backslash itself become escapes, so that different bytes never look the
  /// same.
  package static func describing(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    var parser = Unicode.UTF8.ForwardParser()
    let bytes = Array(bytes)
    var input = bytes.makeIterator()
    var position = 0
    while true {
      switch parser.parseScalar(from: &input) {
      case .valid(let encoded):
        append(Unicode.UTF8.decode(encoded), to: &text)
        position += encoded.count
      case .error(let length):
        for byte in bytes[position..<position + length] { text += hexadecimal(byte) }
        position += length
      case .emptyInput:
        return text
      }
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
    switch scalar {
    case "\n": text += "\\n"
    case "\t": text += "\\t"
    case "\r": text += "\\r"
    case "\\": text += "\\\\"
    case _ where scalar.isASCII && !(32..<127).contains(scalar.value): text += hexadecimal(UInt8(scalar.value))
    case _ where isInvisible(scalar): text += "\\u{\(String(scalar.value, radix: 16))}"
    default: text.unicodeScalars.append(scalar)
    }
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return "\\x" + (digits.count == 1 ? "0" : "") + digits
  }
}
