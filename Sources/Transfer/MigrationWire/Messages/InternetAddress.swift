/// An Internet address with a port, as messages carry it.
package struct InternetAddress: Hashable, Sendable {
  /// Four or sixteen bytes.
  package let address: [UInt8]
  package let port: UInt16

  package init(address: [UInt8], port: UInt16) {
    precondition(address.count == 4 || address.count == 16, "an address has four or sixteen bytes")
    self.address = address
    self.port = port
  }

  package var isIPv6: Bool { address.count == 16 }

  /// Whether an end may tell the address, and dial it (Protocol §6.9): it stands for one device, is
  /// in no reserved network, and has no port of a system's own services.
  package var isDialable: Bool {
    guard port >= Self.leastPort else { return false }
    guard isIPv6 else {
      switch address[0] {
      // This network, loopback, groups, and addresses for later.
      case 0, 127, 224...: return false
      case 169: return address[1] != 254
      default: return true
      }
    }
    // Groups, and addresses that are valid on one link only.
    if address[0] == 0xFF || address[0] == 0xFE && address[1] & 0xC0 == 0x80 { return false }
    // The unspecified address, loopback, and IPv4 addresses in the form of IPv6.
    return !address[..<10].allSatisfy { $0 == 0 } && !address.starts(with: Self.translated)
  }

  private static let leastPort: UInt16 = 1024
  /// 64:ff9b::/32, which leads to IPv4 addresses.
  private static let translated: [UInt8] = [0x00, 0x64, 0xFF, 0x9B]

  /// Reads `family u8, address, port u16`.
  init(_ reader: inout ByteReader, _ bytes: Span<UInt8>, of subject: String) throws(Violation) {
    let count: Int
    switch try reader.u8(bytes) {
    case 4: count = 4
    case 6: count = 16
    default: throw Violation(.value, subject)
    }
    self.init(address: try reader.array(bytes, count), port: try reader.u16(bytes))
  }

  func write(to writer: inout ByteWriter) {
    writer.u8(isIPv6 ? 6 : 4)
    writer.array(address)
    writer.u16(port)
  }
}
