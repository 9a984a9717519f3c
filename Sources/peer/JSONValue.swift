import MigrationWire

/// A value of JSON, and how it is written.
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

  /// The value without any white space, on one line.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .signed(let value): String(value)
    case .number(let value): value.isFinite ? "\(value)" : "null"
    case .string(let value): Self.quoted(value)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  /// A string in quotes. Whatever a terminal would act on or hide is escaped, and means the same to a parser.
  private static func quoted(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case " "..."~": text.unicodeScalars.append(scalar)
      default:
        let character = String(scalar)
        if VisibleText.of(character) == character {
          text += character
        } else {
          for unit in character.utf16 { text += escape(unit) }
        }
      }
    }
    return text + "\""
  }

  private static func escape(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
