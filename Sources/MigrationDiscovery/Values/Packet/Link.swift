/// The way of packets: an interface with an address family.
package struct Link: Hashable, Comparable, Sendable {
  /// The interface's index.
  package let interface: UInt32
  package let isV6: Bool

  package static func < (left: Link, right: Link) -> Bool {
    (left.interface, left.isV6 ? 1 : 0) < (right.interface, right.isV6 ? 1 : 0)
  }
}

/// The sender of a packet. The scope of an IPv6 link-local address is the interface of the packet's
/// link.
package struct Source: Hashable, Sendable {
  package let address: IPAddress
  package let port: UInt16

  /// Whether a plain resolver sent it, which does not know multicast (RFC 6762 §6.7).
  var isLegacy: Bool { port != MulticastDNS.port }
}

/// The links of this device, as given by the caller.
extension [Link: [IPAddress]] {
  private static let mostInterfaces = 64
  private static let mostAddresses = 16

  /// The usable links, each with the addresses of its interface that may be announced there,
  /// without duplicates and in the same order for the same set. A loopback address is announced
  /// only if the interface has no other address.
  var usable: [Link: [IPAddress]] {
    var byInterface: [UInt32: Set<IPAddress>] = [:]
    for (link, addresses) in self {
      byInterface[link.interface, default: []].formUnion(addresses.lazy.filter(\.isDevice))
    }
    let heeded = Set(byInterface.keys.sorted().prefix(Self.mostInterfaces))
    var usable: [Link: [IPAddress]] = [:]
    for link in keys where heeded.contains(link.interface) {
      let all = byInterface[link.interface] ?? []
      let outside = all.filter { !$0.isLoopback }
      let told = (outside.isEmpty ? all : outside).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
      if !told.isEmpty { usable[link] = Array(told.prefix(Self.mostAddresses)) }
    }
    return usable
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
