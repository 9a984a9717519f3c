import MigrationWire

/// A JSON value and its text.
enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case integer(UInt64)
  /// An integer that may be negative.
  case signed(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  /// The members keep their order.
  case object([Member])

  /// A name and its value.
  struct Member: Equatable, Sendable {
    let name: String
    let value: JSONValue

    init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The value on one line, without white space.
  var text: String {
    var text: [UInt8] = []
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private func write(to text: inout [UInt8]) {
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .integer(let value): text += String(value).utf8
    case .signed(let value): text += String(value).utf8
    case .number(let value): text += (value.isFinite ? "\(value)" : "null").utf8
    case .string(let value): Self.quote(value, to: &text)
    case .array(let values):
      text.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        value.write(to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        Self.quote(member.name, to: &text)
        text.append(UInt8(ascii: ":"))
        member.value.write(to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  /// Writes a quoted string. Characters that a terminal would act on or hide are escaped; the
  /// meaning stays the same.
  private static func quote(_ string: String, to text: inout [UInt8]) {
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    text.append(quote)
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"", "\\": text += [backslash, UInt8(ascii: scalar)]
      case "\n": text += [backslash, UInt8(ascii: "n")]
      case "\r": text += [backslash, UInt8(ascii: "r")]
      case "\t": text += [backslash, UInt8(ascii: "t")]
      case _ where !VisibleText.isUnsafe(scalar): VisibleText.appendAsItIs(scalar, to: &text)
      default:
        for unit in scalar.utf16 {
          text += [backslash, UInt8(ascii: "u")]
          VisibleText.appendHexadecimal(UInt32(unit), digits: 4, to: &text)
        }
      }
    }
    text.append(quote)
  }
}
