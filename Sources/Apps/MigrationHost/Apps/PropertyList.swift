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
    if bytes.starts(with: "bplist".utf8) { return isWholeBinary(bytes) }
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

extension PropertyList {
  /// Whether each object of the binary format lies between the header and the table of offsets:
  /// Foundation's parser traps at some that do not.
  private static func isWholeBinary(_ bytes: [UInt8]) -> Bool {
    let (header, trailer) = (8, bytes.count - 32)
    guard trailer >= header else { return false }
    /// A big-endian number of 1 to 8 bytes; nil if it lies elsewhere or does not fit.
    func number(_ at: Int, _ size: Int) -> Int? {
      guard (1...8).contains(size), at >= header, at <= bytes.count - size else { return nil }
      return Int(exactly: bytes[at..<(at + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    let (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard let count = number(trailer + 8, 8), let top = number(trailer + 16, 8), let table = number(trailer + 24, 8),
      (1...8).contains(referenceSize), (1...trailer).contains(count), top < count, (header...trailer).contains(table)
    else { return false }
    return (0..<count).allSatisfy { index in
      guard let offset = number(table + index * offsetSize, offsetSize), (header..<table).contains(offset) else {
        return false
      }
      let (kind, short) = (bytes[offset] >> 4, Int(bytes[offset] & 0xF))
      var (start, length) = (offset + 1, short)
      switch kind {
      case 0x0: length = 0
      case 0x1, 0x2, 0x3: length = short <= 4 ? 1 << short : bytes.count
      case 0x8: length = short + 1
      case 0x4, 0x5, 0x6, 0x7, 0xA, 0xC, 0xD:
        if short == 0xF {
          guard start < table, bytes[start] >> 4 == 1, bytes[start] & 0xF <= 3,
            let long = number(start + 1, 1 << Int(bytes[start] & 0xF)), long <= bytes.count
          else { return false }
          (start, length) = (start + 1 + (1 << Int(bytes[start] & 0xF)), long)
        }
        length *= kind == 0x6 ? 2 : kind == 0xD ? 2 * referenceSize : kind >= 0xA ? referenceSize : 1
      default: return false
      }
      return start + length <= table
    }
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
