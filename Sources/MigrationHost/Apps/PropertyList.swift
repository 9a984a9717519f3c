import FoundationEssentials
import MigrationSystem

/// A value of a property list, of the types that bundles use.
enum PropertyList: Equatable, Sendable {
  case text(String)
  case array([PropertyList])
  case dictionary([String: PropertyList])
  /// A number, a date, data or a truth value: bundles use none.
  case other

  /// The longest file that is read.
  static let longestFile = 64 << 10
  /// The deepest nesting, and the most values, that are read. A bundle needs a depth of four and a
  /// few dozen values.
  private static let deepest = 16
  private static let mostValues = 10_000
  /// The parser descends one level of its stack for each container.
  private static let mostContainers = 1_000

  /// Parses XML or the binary format; nil for other data.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.longestFile, Self.isReadable(bytes) else { return nil }
    let decoder = PropertyListDecoder()
    decoder.userInfo[Budget.key] = Budget(Self.mostValues)
    guard let value = try? decoder.decode(PropertyList.self, from: Data(bytes)) else { return nil }
    self = value
  }

  /// Whether the bytes have one of the two formats, and do not exhaust the parser's stack.
  private static func isReadable(_ bytes: [UInt8]) -> Bool {
    if bytes.starts(with: "bplist".utf8) { return true }
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    guard text.first(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "<") else { return false }
    var containers = 0
    for index in text.indices where text[index] == UInt8(ascii: "<") {
      let rest = text[(index + 1)...]
      if rest.starts(with: "array".utf8) || rest.starts(with: "dict".utf8) { containers += 1 }
    }
    return containers <= mostContainers
  }
}

extension PropertyList: Decodable {
  /// The number of values that may still be read: in the binary format a few bytes can represent
  /// very many values.
  private final class Budget: Sendable {
    static var key: CodingUserInfoKey {
      guard let key = CodingUserInfoKey(rawValue: "values") else { preconditionFailure("every text is a key") }
      return key
    }
    private let rest: Mutex<Int>

    init(_ count: Int) { rest = Mutex(count) }

    func spend(_ depth: Int) throws {
      let rest = rest.withLock { rest in
        rest -= 1
        return rest
      }
      guard rest >= 0, depth <= PropertyList.deepest else {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "too much"))
      }
    }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    try (decoder.userInfo[Budget.key] as? Budget)?.spend(decoder.codingPath.count)
    if let container = try? decoder.container(keyedBy: Key.self) {
      var entries: [String: PropertyList] = [:]
      for key in container.allKeys { entries[key.stringValue] = try container.decode(PropertyList.self, forKey: key) }
      self = .dictionary(entries)
    } else if var container = try? decoder.unkeyedContainer() {
      var values: [PropertyList] = []
      while !container.isAtEnd { values.append(try container.decode(PropertyList.self)) }
      self = .array(values)
    } else if let text = try? decoder.singleValueContainer().decode(String.self) {
      self = .text(text)
    } else {
      self = .other
    }
  }
}
