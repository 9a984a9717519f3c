import MigrationSystem

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

func ip(_ bytes: UInt8...) -> SocketAddress { SocketAddress(bytes) ?? MulticastDNS.groupV4 }

extension DNSName {
  /// A name of labels without dots.
  init(_ text: String) { self = DNSName(labels: text.split(separator: ".").map { Array($0.utf8) }) ?? .root }
}

extension Link {
  static let v4 = Link(interface: 2, isV6: false)
  static let v6 = Link(interface: 2, isV6: true)
  static let loopback = Link(interface: 1, isV6: false)
}

extension SocketAddress {
  /// An address of a record; nil unless there are 4 or 16 bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.init(family: bytes.count == 4 ? .v4 : .v6, bytes: bytes, port: 0)
  }

  /// The address without a port, as records have it.
  var bare: SocketAddress { SocketAddress(family: family, bytes: bytes, port: 0) }

  /// The address as it is found on an interface.
  func found(on interface: UInt32 = 0, port: UInt16 = 4242) -> SocketAddress {
    SocketAddress(family: family, bytes: bytes, scope: interface, port: port)
  }

  /// Another device.
  static let other = ip(192, 0, 2, 9)
}
