/// The way of packets: an interface with an address family.
package struct Link: Hashable, Comparable, Sendable {
  /// The interface's index.
  package let interface: UInt32
  package let isV6: Bool

  package static func < (left: Link, right: Link) -> Bool {
    (left.interface, left.isV6 ? 1 : 0) < (right.interface, right.isV6 ? 1 : 0)
  }
}

/// An IPv4 or IPv6 address, as bytes in network order.
package struct IPAddress: Hashable, Sendable {
  /// 4 or 16 bytes.
  package let bytes: [UInt8]

  /// Nil unless there are 4 or 16 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  fileprivate init(literal bytes: UInt8...) { self.bytes = bytes }

  package var isV6: Bool { bytes.count == 16 }

  /// Whether it is valid on one link only: fe80::/10 and 169.254/16.
  package var isLinkLocal: Bool {
    isV6 ? bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80 : bytes[0] == 169 && bytes[1] == 254
  }

  /// ::1 and 127/8.
  package var isLoopback: Bool {
    isV6 ? bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1 : bytes[0] == 127
  }

  /// Whether it can be a device's address: not 0/8, ::, multicast, broadcast, reserved, or IPv4
  /// inside IPv6.
  package var isDevice: Bool {
    guard isV6 else { return bytes[0] != 0 && bytes[0] < 224 }
    return bytes[0] != 0xff && (isLoopback || bytes.prefix(8).contains { $0 != 0 })
  }
}

/// The constants of multicast DNS (RFC 6762).
package enum MulticastDNS {
  package static let port: UInt16 = 5353
  /// The group for all packets over IPv4.
  package static let groupV4 = IPAddress(literal: 224, 0, 0, 251)
  /// The group for all packets over IPv6.
  package static let groupV6 = IPAddress(literal: 0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb)
  /// The longest packet that is read (§17).
  package static let longestPacket = 9000
}
