/// An instance of the service that can be connected to.
package struct Found: Hashable, Sendable {
  /// Its label; escape it before showing it.
  package let name: String
  /// The receiver's run, nil if it is not given.
  package let instance: UInt64?
  package let port: UInt16
  /// At least one, the most useful first.
  package let addresses: [FoundAddress]

  package init(name: String, instance: UInt64?, port: UInt16, addresses: [FoundAddress]) {
    self.name = name
    self.instance = instance
    self.port = port
    self.addresses = addresses
  }
}

/// An address of an instance.
package struct FoundAddress: Hashable, Sendable {
  package let address: IPAddress
  /// The interface of a link-local address, which is its scope; 0 for all others.
  package let interface: UInt32

  package init(_ address: IPAddress, heardOn interface: UInt32) {
    self.address = address
    self.interface = address.isLinkLocal ? interface : 0
  }

  /// Addresses in the order in which to use them: addresses that routers know; addresses of a link,
  /// IPv6 first, which names its interface; addresses of this device. In the other groups IPv4 is
  /// first, because it is shorter to read.
  static func inOrder(_ addresses: Set<FoundAddress>) -> [FoundAddress] {
    addresses.sorted { left, right in
      let ranks = (left.rank, right.rank)
      if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
      if left.interface != right.interface { return left.interface < right.interface }
      return left.address.bytes.lexicographicallyPrecedes(right.address.bytes)
    }
  }

  private var rank: Int {
    if address.isLoopback { return address.isV6 ? 5 : 4 }
    if address.isLinkLocal { return address.isV6 ? 2 : 3 }
    return address.isV6 ? 1 : 0
  }
}
