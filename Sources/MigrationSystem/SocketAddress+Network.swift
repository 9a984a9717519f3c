import Glibc

extension SocketAddress {
  /// The addresses that share one host's quota with this address.
  ///
  /// At a distance, one host has all addresses of an IPv6 /64. On a link of this machine, and with
  /// IPv4, each address counts separately: otherwise one neighbour would use up the quota of all.
  package func network(onLink isOnLink: @autoclosure () -> Bool) -> AddressRange {
    if family == .v4 || isLinkLocal || isLoopback || isOnLink() { return AddressRange(self) }
    return AddressRange(self, bits: 64)
  }

  /// The network of the address, by the machine's current connections.
  package var network: AddressRange { network(onLink: LocalLinks.current().contains(self)) }
}

/// The links of this machine, as ranges of their addresses.
package struct LocalLinks: Equatable, Sendable {
  package let ranges: [AddressRange]

  package init(_ ranges: [AddressRange]) { self.ranges = ranges }

  /// Whether an address is on one of the links.
  package func contains(_ address: SocketAddress) -> Bool { ranges.contains { $0.contains(address) } }

  /// Asks the kernel; if it does not answer, there are no links.
  package static func current() -> LocalLinks {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&list) == 0 else { return LocalLinks([]) }
    defer { unsafe freeifaddrs(list) }

    var ranges: [AddressRange] = []
    var entry = unsafe list
    while let current = unsafe entry {
      let address = unsafe current.pointee.ifa_addr.flatMap { unsafe SocketAddress($0) }
      let mask = unsafe current.pointee.ifa_netmask.flatMap { unsafe SocketAddress($0) }
      if let address, let mask, mask.family == address.family {
        let bits = mask.bytes.reduce(0) { $0 + $1.nonzeroBitCount }
        // A tunnel to all addresses is not a link.
        if bits > 0 { ranges.append(AddressRange(address, bits: bits)) }
      }
      unsafe entry = current.pointee.ifa_next
    }
    return LocalLinks(ranges)
  }
}
