import FoundationEssentials
import MigrationWire

/// A value that has a JSON form.
protocol JSONConvertible {
  /// The value on one line, without white space.
  var json: String { get }

  /// The members of an object for this value, with their names: one, unless a type needs another number.
  func members(_ key: String) -> [(name: String, json: String)]
}

extension JSONConvertible {
  func members(_ key: String) -> [(name: String, json: String)] { [(key, json)] }
}

/// The members of a JSON object, written as a dictionary: their order stays.
struct JSONMembers: JSONConvertible, ExpressibleByDictionaryLiteral {
  private let list: [(name: String, json: String)]

  init(dictionaryLiteral elements: (String, any JSONConvertible)...) {
    list = elements.flatMap { key, value in value.members(key) }
  }

  private init(_ list: [(name: String, json: String)]) { self.list = list }

  var json: String { "{" + list.map { "\($0.name.json):\($0.json)" }.joined(separator: ",") + "}" }

  static func + (left: JSONMembers, right: JSONMembers) -> JSONMembers { JSONMembers(left.list + right.list) }
}

/// A name from a file system, which need not be text: then its exact bytes are a member of their own.
struct FileName: JSONConvertible {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var json: String { VisibleText.of(bytes).json }

  func members(_ key: String) -> [(name: String, json: String)] {
    if let text = String(validating: bytes, as: UTF8.self) { return [(key, text.json)] }
    return [(key, json), (key + "Base64", Data(bytes).base64EncodedString().json)]
  }
}

/// A member that is absent without a value; other optional values are null then.
struct IfGiven: JSONConvertible {
  let value: (any JSONConvertible)?

  init(_ value: (any JSONConvertible)?) { self.value = value }

  var json: String { value?.json ?? "null" }

  func members(_ key: String) -> [(name: String, json: String)] { value?.members(key) ?? [] }
}

extension String: JSONConvertible {
  /// Characters that a terminal would act on or hide are escaped; the meaning stays the same.
  var json: String {
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    var text = [quote]
    for scalar in unicodeScalars {
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
    return String(decoding: text, as: UTF8.self)
  }
}

extension Bool: JSONConvertible {
  var json: String { description }
}

extension Double: JSONConvertible {
  var json: String { isFinite ? description : "null" }
}

extension JSONConvertible where Self: BinaryInteger {
  var json: String { String(self) }
}

extension Int: JSONConvertible {}
extension Int32: JSONConvertible {}
extension UInt16: JSONConvertible {}
extension UInt64: JSONConvertible {}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
  var json: String { self?.json ?? "null" }
}

extension Array: JSONConvertible where Element: JSONConvertible {
  var json: String { "[" + map(\.json).joined(separator: ",") + "]" }
}

extension Rendering {
  /// A line of JSON for an event.
  static func event(_ name: String, _ members: JSONMembers = [:]) -> Rendering {
    let event: JSONMembers = ["event": name]
    return Rendering(standardOutput: (event + members).json + "\n")
  }

  /// One text after the other.
  static func + (left: Rendering, right: Rendering) -> Rendering {
    Rendering(
      standardError: left.standardError + right.standardError,
      standardOutput: left.standardOutput + right.standardOutput)
  }
}
