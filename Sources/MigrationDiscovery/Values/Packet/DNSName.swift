/// A domain name: labels of bytes. A dot in a label is an ordinary byte.
///
/// Names are equal if they differ only in the case of ASCII letters (RFC 6762 §16).
package struct DNSName: Hashable, Sendable {
  /// The longest label, in bytes.
  package static let longestLabel = 63
  /// The longest name in its sent form, in bytes, with a length before each label and the end.
  package static let longest = 255
  /// The name without labels.
  package static let root = DNSName(wire: [0])

  /// The sent form, without compression.
  let wire: [UInt8]
  /// The same in lower case. Lengths are below 64, so no length is mistaken for a letter.
  private let folded: [UInt8]

  /// Creates it from bytes that are a valid name without compression.
  init(wire: [UInt8]) {
    self.wire = wire
    folded = wire.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
  }

  /// Nil if a label is empty or too long, or the whole name is too long.
  package init?(labels: [[UInt8]]) {
    guard labels.allSatisfy({ !$0.isEmpty && $0.count <= Self.longestLabel }) else { return nil }
    guard labels.reduce(1, { $0 + 1 + $1.count }) <= Self.longest else { return nil }
    self.init(wire: labels.flatMap { [UInt8($0.count)] + $0 } + [0])
  }

  package var labels: [[UInt8]] {
    var labels: [[UInt8]] = []
    var at = 0
    while wire[at] > 0 {
      let end = at + 1 + Int(wire[at])
      labels.append(Array(wire[at + 1..<end]))
      at = end
    }
    return labels
  }

  /// The first label, if the rest of the name is `rest`.
  package func label(before rest: DNSName) -> [UInt8]? {
    let end = 1 + Int(wire[0])
    guard end > 1, folded[end...].elementsEqual(rest.folded) else { return nil }
    return Array(wire[1..<end])
  }

  package static func == (left: DNSName, right: DNSName) -> Bool { left.folded == right.folded }
  package func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}
