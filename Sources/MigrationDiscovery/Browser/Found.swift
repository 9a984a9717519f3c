/// An instance of the service that can be connected to.
package struct Found: Hashable, Sendable {
  /// Its label; not fit to be shown before it is escaped.
  package let name: String
  /// Which run of a receiver it is, nil where it does not say.
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
  /// The interface on which a link-local address means something, which is its scope; 0 for all others.
  package let interface: UInt32

  package init(_ address: IPAddress, heardOn interface: UInt32) {
    self.address = address
    self.interface = address.isLinkLocal ? interface : 0
  }

  /// Addresses in their order of use: those that routers know; those of a link, IPv6 first, which names its interface; those of
  /// this device. Elsewhere IPv4 is first, because it is shorter to read.
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
