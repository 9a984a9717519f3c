/// The form of the identifiers of apps, extensions and groups, so that each can be a file name.
package enum AppName {
  /// File names contain them, with up to fifty more bytes, and have at most 255 bytes.
  package static let longest = 200

  /// The rule in words, to follow "is not".
  package static let rule =
    "1 to 200 letters, digits, dots and hyphens, the first one a letter or digit, and no two dots in a row"

  /// Whether a text has this form.
  package static func isWellFormed(_ text: String) -> Bool {
    guard let first = text.utf8.first, isLetterOrDigit(first), text.utf8.count <= longest else { return false }
    let (dot, hyphen) = (UInt8(ascii: "."), UInt8(ascii: "-"))
    var last = first
    for byte in text.utf8.dropFirst() {
      guard isLetterOrDigit(byte) || byte == hyphen || byte == dot && last != dot else { return false }
      last = byte
    }
    return true
  }

  /// Whether a byte is one of ASCII's letters or digits.
  package static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
