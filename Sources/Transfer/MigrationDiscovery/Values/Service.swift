/// The service that a receiver announces.
package struct Service: Hashable, Sendable {
  /// The preferred name of the instance: any text.
  package let label: String
  package let port: UInt16
  /// A random number of this run, which is in the TXT record and in the host name.
  package let instance: UInt64

  package init(label: String, port: UInt16, instance: UInt64) {
    self.label = label
    self.port = port
    self.instance = instance
  }
}

/// The names of this service type (RFC 6763).
package enum ServiceNames {
  /// `_peer-migrate._tcp.local`, a part of every instance's name.
  package static let type = name("_peer-migrate", "_tcp", "local")

  /// The name of the instance with this label; nil if the label is empty or too long.
  package static func instance(_ label: [UInt8]) -> DNSName? { DNSName(labels: [label] + type.labels) }

  /// The host name of a run: `peer-` with 16 hexadecimal digits, in `local`.
  package static func host(_ instance: UInt64) -> DNSName { name("peer-" + instance.hexadecimal, "local") }

  /// A name of labels that are known to be valid.
  private static func name(_ labels: String...) -> DNSName { DNSName(labels: labels.map { Array($0.utf8) }) ?? .root }
}

extension UInt64 {
  /// The number as 16 hexadecimal digits.
  fileprivate var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Nil unless there are exactly 16 digits.
  fileprivate init?(hexadecimal digits: some Collection<UInt8>) {
    // The standard library would also accept a sign.
    guard digits.count == 16, digits.allSatisfy({ $0 >= UInt8(ascii: "0") }) else { return nil }
    self.init(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}

/// The content of a service's TXT record (RFC 6763 §6): keys with values, none of them secret.
extension Service {
  /// A receiver's own text.
  static func text(ofInstance instance: UInt64) -> [UInt8] {
    ["txtvers=1", "id=" + instance.hexadecimal].flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
  }

  /// The instance that a record names, nil if it names none. The first of several counts (RFC 6763
  /// §6.4).
  static func instance(ofText bytes: [UInt8]) -> UInt64? {
    var rest = bytes[...]
    while let length = rest.popFirst() {
      let string = rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
      if string.count > 2, string.prefix(2).map({ $0 | 0x20 }) == Array("id".utf8), string.dropFirst(2).first == 0x3d {
        return UInt64(hexadecimal: string.dropFirst(3))
      }
    }
    return nil
  }
}

extension Service {
  /// The end of a label, by which no two receivers have the same: "laptop (3f2a)".
  package static func labelEnd(_ instance: UInt64) -> String { " (\(instance.hexadecimal.prefix(4)))" }

  /// The first label of the instance's name, from the device's name: the text without control characters
  /// and without surrounding spaces, or "peer" if nothing is left, and digits of the run's number. A label
  /// that is too long is cut between two characters.
  package var labelBytes: [UInt8] {
    let suffix = Array(Self.labelEnd(instance).utf8)
    var visible = label.unicodeScalars.filter { $0.properties.generalCategory != .control }
    while visible.first?.properties.isWhitespace == true { visible.removeFirst() }
    while visible.last?.properties.isWhitespace == true { visible.removeLast() }
    let whole = visible.isEmpty ? "peer" : String(visible)
    return Self.prefix(whole, atMost: DNSName.longestLabel - suffix.count) + suffix
  }

  /// As many whole characters as fit; of a single character that is too long, as many scalars as
  /// fit.
  private static func prefix(_ text: String, atMost count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for character in text {
      guard bytes.count + character.utf8.count <= count else { break }
      bytes += character.utf8
    }
    guard bytes.isEmpty else { return bytes }
    for scalar in text.unicodeScalars {
      let encoded = Array(String(scalar).utf8)
      guard bytes.count + encoded.count <= count else { break }
      bytes += encoded
    }
    return bytes
  }
}

/// Random delays that are the same for the same seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  /// A random number of seconds from the range.
  mutating func seconds(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &self) }
}
