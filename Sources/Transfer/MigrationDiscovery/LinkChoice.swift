import MigrationSystem

extension OpenLinks {
  /// Chooses the interfaces on which this device finds and announces devices. A value; the caller
  /// lists the interfaces.
  struct LinkChoice: Equatable, Sendable {
    /// Only a server with a network for each of many guests has more interfaces. Physical interfaces
    /// come first, then virtual interfaces such as a bridge for guests.
    static let mostInterfaces = 16
    /// More addresses of one interface would not fit into a packet. Half of them are for each family, as far
    /// as it has so many.
    static let mostAddresses = 16

    /// The links, each with this device's addresses on its interface.
    let links: [Link: [SocketAddress]]
    /// Whether this device is not connected to a network, so that the loopback interface is used.
    let isOnlyItself: Bool
    /// Whether tunnels are its only networks.
    let isOnlyTunnels: Bool
    private let interfaces: [UInt32: NetworkInterface]

    /// Selects from the interfaces.
    ///
    /// Tunnels are left out, because the devices at their other ends are not in a network with this
    /// device. The loopback interface is used if there is no other: both programs may be on this
    /// device.
    ///
    /// Interfaces without an address within reach are left out as well.
    init(_ all: [NetworkInterface], reaching reach: SocketAddress? = nil) {
      let all = all.filter { reach == nil || !$0.own(reach).isEmpty }
      let networks = all.filter { $0.isNetwork && !$0.links.isEmpty }
      let ranked = networks.filter { !$0.isMadeUp } + networks.filter(\.isMadeUp)
      let chosen = networks.isEmpty ? all.filter { $0.isItself }.prefix(1) : ranked.prefix(Self.mostInterfaces)
      isOnlyItself = networks.isEmpty && !chosen.isEmpty
      isOnlyTunnels = networks.isEmpty && all.contains { $0.isTunnel }
      interfaces = Dictionary(chosen.map { ($0.index, $0) }) { first, _ in first }
      var links: [Link: [SocketAddress]] = [:]
      for interface in chosen {
        let addresses = interface.own(reach)
        for link in interface.links where !addresses.isEmpty { links[link] = addresses }
      }
      self.links = links
    }

    /// Whether a packet comes from a device on the link on which it arrived, and not through a
    /// router (RFC 6762 §11), and from the port of multicast DNS (§6).
    func isOfLink(_ datagram: MulticastSocket.Datagram, _ link: Link) -> Bool {
      guard datagram.interface == link.interface, datagram.sender.port == MulticastDNS.port,
        let interface = interfaces[link.interface]
      else { return false }
      return datagram.hopLimit == 255 || interface.isOnLink(datagram.sender)
    }
  }
}

extension NetworkInterface {
  /// Whether it leads to a network in which one packet reaches several devices.
  fileprivate var isNetwork: Bool {
    flags.isSuperset(of: [.up, .running, .multicast]) && flags.isDisjoint(with: [.loopback, .pointToPoint]) && !isPort
  }

  /// Whether it leads to one other device, which leads further.
  fileprivate var isTunnel: Bool {
    flags.isSuperset(of: [.up, .running, .pointToPoint]) && addresses.contains { $0.isReady }
  }

  /// Whether it leads only to this device.
  fileprivate var isItself: Bool { flags.isSuperset(of: [.up, .loopback]) }

  /// The families for which it has an address to send from: with IPv6, a link-local address.
  fileprivate var links: [Link] {
    let ready = addresses.filter(\.isReady).map(\.address)
    var links: [Link] = []
    if ready.contains(where: { $0.family == .v4 }) { links.append(Link(interface: index, isV6: false)) }
    if !flags.contains(.loopback), ready.contains(where: { $0.family == .v6 && $0.isLinkLocal }) {
      links.append(Link(interface: index, isV6: true))
    }
    return links
  }

  /// The addresses within reach that other devices may use for new connections. A loopback address is
  /// among them only if there is no other.
  fileprivate func own(_ reach: SocketAddress?) -> [SocketAddress] {
    let all = addresses.filter { $0.isReady && !$0.isDeprecated && reach?.reaches($0.address) != false }
      .map { SocketAddress(family: $0.address.family, bytes: $0.address.bytes, port: 0) }.filter(\.isDevice)
    let outside = all.filter { !$0.isLoopback }
    // The kernel's order may change.
    let sorted = (outside.isEmpty ? all : outside).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    let (first, second) = (sorted.filter { !$0.isV6 }, sorted.filter(\.isV6))
    let most = OpenLinks.LinkChoice.mostAddresses
    let some = Array(first.prefix(max(most / 2, most - second.count)))
    return some + second.prefix(most - some.count)
  }
}

extension SocketAddress {
  /// Whether a service that listens on this address, or on all that it stands for, accepts connections on
  /// another one; the ports do not matter. The IPv6 address for all includes IPv4.
  fileprivate func reaches(_ address: SocketAddress) -> Bool {
    if isUnspecified { return family == .v6 || address.family == .v4 }
    return bytes == address.bytes && scope == address.scope
  }
}
