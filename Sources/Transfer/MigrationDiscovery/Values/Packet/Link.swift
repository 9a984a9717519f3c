package import MigrationSystem

/// The way of packets: an interface with an address family.
package struct Link: Hashable, Comparable, Sendable {
  /// The interface's index.
  package let interface: UInt32
  package let isV6: Bool

  package static func < (left: Link, right: Link) -> Bool {
    (left.interface, left.isV6 ? 1 : 0) < (right.interface, right.isV6 ? 1 : 0)
  }
}

extension SocketAddress {
  var isV6: Bool { family == .v6 }

  /// Whether it can be a device's address: not 0/8, ::, multicast, broadcast, reserved, or IPv4
  /// inside IPv6.
  var isDevice: Bool {
    guard isV6 else { return bytes[0] != 0 && bytes[0] < 224 }
    return bytes[0] != 0xff && (isLoopback || bytes.prefix(8).contains { $0 != 0 })
  }
}

/// The constants of multicast DNS (RFC 6762).
package enum MulticastDNS {
  package static let port: UInt16 = 5353
  /// The group for all packets over IPv4.
  package static let groupV4 = SocketAddress(family: .v4, bytes: [224, 0, 0, 251], port: port)
  /// The group for all packets over IPv6.
  package static let groupV6 = SocketAddress(
    family: .v6, bytes: [0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb], port: port)
  /// The longest packet that is read (§17).
  package static let longestPacket = 9000
}
