import Glibc

extension SocketAddress {
  /// The addresses that count as one with this one where each host gets a share.
  ///
  /// One host has all addresses of an IPv6 /64 somewhere else. On a link of this machine, and with IPv4, each address
  /// counts for itself: else one neighbour would use up what all of them have.
  package func network(onLink isOnLink: @autoclosure () -> Bool) -> AddressRange {
    if family == .v4 || isLinkLocal || isLoopback || isOnLink() { return AddressRange(self) }
    return AddressRange(self, bits: 64)
  }

  /// The network of the address, as this machine is connected now.
  package var network: AddressRange { network(onLink: LocalLinks.current().contains(self)) }
}

/// The links that this machine is connected to, by the ranges of their addresses.
package struct LocalLinks: Equatable, Sendable {
  package let ranges: [AddressRange]

  package init(_ ranges: [AddressRange]) { self.ranges = ranges }

  /// Whether an address is on one of the links.
  package func contains(_ address: SocketAddress) -> Bool { ranges.contains { $0.contains(address) } }

  /// Asks the kernel; where it does not tell, there is no link.
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
        // A tunnel to everywhere is no link.
        if bits > 0 { ranges.append(AddressRange(address, bits: bits)) }
      }
      unsafe entry = current.pointee.ifa_next
    }
    return LocalLinks(ranges)
  }
}
