/// The path of packets: an interface with a family.
package struct Link: Hashable, Comparable, Sendable {
  /// The interface's index.
  package let interface: UInt32
  package let isV6: Bool

  package init(interface: UInt32, isV6: Bool) {
    self.interface = interface
    self.isV6 = isV6
  }

  package static func < (left: Link, right: Link) -> Bool {
    (left.interface, left.isV6 ? 1 : 0) < (right.interface, right.isV6 ? 1 : 0)
  }
}

/// The sender of a packet. The scope of an IPv6 link-local address is the interface of the packet's
/// link.
package struct Source: Hashable, Sendable {
  package let address: IPAddress
  package let port: UInt16

  package init(address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }

  /// Whether a plain resolver sent it, which does not know multicast (RFC 6762 §6.7).
  var isLegacy: Bool { port != MulticastDNS.port }
}

/// The links of this device, as given by the caller.
enum LinkTable {
  /// The most interfaces that are used.
  static let mostInterfaces = 64
  /// The most addresses of an interface that are used.
  static let mostAddresses = 16

  /// The usable links, each with the addresses of its interface that may be announced there,
  /// without duplicates and in the same order for the same set. A loopback address is announced
  /// only if the interface has no other address.
  static func usable(_ links: [Link: [IPAddress]]) -> [Link: [IPAddress]] {
    var byInterface: [UInt32: Set<IPAddress>] = [:]
    for (link, addresses) in links {
      byInterface[link.interface, default: []].formUnion(addresses.lazy.filter(\.isDevice))
    }
    let heeded = Set(byInterface.keys.sorted().prefix(mostInterfaces))
    var usable: [Link: [IPAddress]] = [:]
    for link in links.keys where heeded.contains(link.interface) {
      let all = byInterface[link.interface] ?? []
      let outside = all.filter { !$0.isLoopback }
      let told = (outside.isEmpty ? all : outside).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
      if !told.isEmpty { usable[link] = Array(told.prefix(mostAddresses)) }
    }
    return usable
  }
}
