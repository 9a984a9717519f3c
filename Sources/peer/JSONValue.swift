import FoundationEssentials
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

extension JSONValue.Member {
  /// A name from a file system: the text under `key`, and also the exact bytes if they are not
  /// valid text.
  static func name(_ key: String, _ bytes: [UInt8]) -> [JSONValue.Member] {
    if let text = String(validating: bytes, as: UTF8.self) { return [.init(key, .string(text))] }
    return [
      .init(key, .string(VisibleText.of(bytes))), .init(key + "Base64", .string(Data(bytes).base64EncodedString())),
    ]
  }
}

/// A value that has a JSON form.
protocol JSONConvertible {
  var json: JSONValue { get }

  /// The members of an object for this value: one, unless a type needs another number.
  func members(_ key: String) -> [JSONValue.Member]
}

extension JSONConvertible {
  func members(_ key: String) -> [JSONValue.Member] { [JSONValue.Member(key, json)] }
}

/// The members of a JSON object, written as a dictionary: their order stays.
struct JSONMembers: JSONConvertible, ExpressibleByDictionaryLiteral {
  private let list: [JSONValue.Member]

  init(_ list: [JSONValue.Member]) { self.list = list }

  init(dictionaryLiteral elements: (String, any JSONConvertible)...) {
    list = elements.flatMap { key, value in value.members(key) }
  }

  var json: JSONValue { .object(list) }

  static func + (left: JSONMembers, right: JSONMembers) -> JSONMembers { JSONMembers(left.list + right.list) }
}

/// A name from a file system, which need not be text.
struct FileName: JSONConvertible {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var json: JSONValue { .string(VisibleText.of(bytes)) }

  func members(_ key: String) -> [JSONValue.Member] { JSONValue.Member.name(key, bytes) }
}

/// A member that is absent without a value; other optional values are null then.
struct IfGiven: JSONConvertible {
  let value: (any JSONConvertible)?

  init(_ value: (any JSONConvertible)?) { self.value = value }

  var json: JSONValue { value?.json ?? .null }

  func members(_ key: String) -> [JSONValue.Member] { value?.members(key) ?? [] }
}

extension JSONValue: JSONConvertible {
  var json: JSONValue { self }
}

extension String: JSONConvertible {
  var json: JSONValue { .string(self) }
}

extension Bool: JSONConvertible {
  var json: JSONValue { .bool(self) }
}

extension Double: JSONConvertible {
  var json: JSONValue { .number(self) }
}

extension JSONConvertible where Self: BinaryInteger {
  var json: JSONValue { self < 0 ? .signed(Int64(self)) : .integer(UInt64(self)) }
}

extension Int: JSONConvertible {}
extension Int32: JSONConvertible {}
extension UInt16: JSONConvertible {}
extension UInt64: JSONConvertible {}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
  var json: JSONValue { self?.json ?? .null }
}

extension Array: JSONConvertible where Element: JSONConvertible {
  var json: JSONValue { .array(map(\.json)) }
}

extension Rendering {
  /// A line of JSON for an event.
  static func event(_ name: String, _ members: JSONMembers = [:]) -> Rendering {
    let event: JSONMembers = ["event": name]
    return Rendering(standardOutput: (event + members).json.text + "\n")
  }

  /// One text after the other.
  static func + (left: Rendering, right: Rendering) -> Rendering {
    Rendering(
      standardError: left.standardError + right.standardError,
      standardOutput: left.standardOutput + right.standardOutput)
  }
}
