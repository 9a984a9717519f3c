@testable import MigrationDiscovery

/// Bytes written by hand: `"text"` is a label or a string with its length before it, the rest is
/// hexadecimal, with spaces and `|` for readability: `0000 "local" 00 c00c`.
func bytes(_ text: String) -> [UInt8] {
  var bytes: [UInt8] = []
  for (index, part) in text.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
    if index % 2 == 1 {
      bytes.append(UInt8(part.utf8.count))
      bytes += Array(part.utf8)
    } else {
      let digits = Array(part.utf8).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      for place in stride(from: 0, to: digits.count, by: 2) {
        bytes.append(UInt8(digits[place] << 4 | digits[place + 1]))
      }
    }
  }
  return bytes
}

func ip(_ bytes: UInt8...) -> IPAddress { IPAddress(bytes) ?? MulticastDNS.groupV4 }

extension DNSName {
  /// A name of labels without dots.
  init(_ text: String) { self = DNSName(labels: text.split(separator: ".").map { Array($0.utf8) }) ?? .root }
}

extension Link {
  static let v4 = Link(interface: 2, isV6: false)
  static let v6 = Link(interface: 2, isV6: true)
  static let loopback = Link(interface: 1, isV6: false)
}

extension IPAddress {
  /// Another device.
  static let other = ip(192, 0, 2, 9)
}
