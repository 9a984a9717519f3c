import MigrationDiscovery
import MigrationSystem

/// Which of this device's interfaces devices are looked for and announced on. A value; the interfaces are given.
struct LinkChoice: Equatable, Sendable {
  /// More interfaces than that are a server's with a network for each of many guests. Those of default routes are taken
  /// first, and then real ones before those that the system has made up, a bridge for guests being one.
  static let mostInterfaces = 16
  /// More addresses of one interface would not fit into a packet.
  static let mostAddresses = 16

  /// The links, each with the addresses of this device at its interface.
  let links: [Link: [IPAddress]]
  /// Whether this device is in no network, and the loopback interface stands in.
  let isOnlyItself: Bool
  private let interfaces: [UInt32: NetworkInterface]

  /// Chooses among the interfaces.
  ///
  /// Tunnels are left out: those at their other ends are in no network with this device. The loopback interface stands in
  /// where there is no other: both programs may be on this device.
  ///
  /// Interfaces at which nothing could be reached are left out as well. The default routes are given by the addresses of this
  /// device that they are used from; they matter only where there are very many interfaces.
  init(
    _ all: [NetworkInterface], reaching reach: Reach = .everywhere, defaultRoutes: () -> [SocketAddress] = { [] }
  ) {
    let all = all.filter { reach == .everywhere || !$0.own(reach).isEmpty }
    var networks = all.filter { $0.isNetwork && !$0.links.isEmpty }
    if networks.count > Self.mostInterfaces {
      let routes = defaultRoutes().map(\.bytes)
      let ranked = networks.enumerated().sorted {
        ($0.element.rank(routes), $0.offset) < ($1.element.rank(routes), $1.offset)
      }
      networks = ranked.prefix(Self.mostInterfaces).map(\.element)
    }
    let chosen = networks.isEmpty ? Array(all.filter { $0.isItself }.prefix(1)) : networks
    isOnlyItself = networks.isEmpty && !chosen.isEmpty
    interfaces = Dictionary(chosen.map { ($0.index, $0) }) { first, _ in first }
    var links: [Link: [IPAddress]] = [:]
    for interface in chosen {
      let addresses = Array(interface.own(reach).prefix(Self.mostAddresses))
      for link in interface.links { links[link] = addresses }
    }
    self.links = links
  }

  /// Whether a packet comes from a device on the link that it came in by, and from no router: RFC 6762 §11.
  func isOfLink(_ datagram: Datagram, _ link: Link) -> Bool {
    guard datagram.interface == link.interface, let interface = interfaces[link.interface] else { return false }
    return datagram.hopLimit == 255 || interface.isOnLink(datagram.sender)
  }

  /// Whether an answer may go to an address alone: one in a network of the link's interface. A sender that only says that it
  /// is near, by its hop limit, could have other devices answered.
  func isNear(_ address: SocketAddress, _ link: Link) -> Bool {
    interfaces[link.interface]?.isOnLink(address) == true
  }
}

extension NetworkInterface {
  /// Whether it leads to a network in which one packet reaches several devices.
  fileprivate var isNetwork: Bool {
    flags.isSuperset(of: [.up, .running, .multicast]) && flags.isDisjoint(with: [.loopback, .pointToPoint]) && !isPort
  }

  /// Which are taken first of very many.
  fileprivate func rank(_ defaultRoutes: [[UInt8]]) -> Int {
    if addresses.contains(where: { defaultRoutes.contains($0.address.bytes) }) { return 0 }
    return isMadeUp ? 2 : 1
  }

  /// Whether it leads to this device itself.
  fileprivate var isItself: Bool { flags.isSuperset(of: [.up, .loopback]) }

  /// The families that it has an address to send from for: with IPv6 it must be the one that belongs to the link.
  fileprivate var links: [Link] {
    let ready = addresses.filter(\.isReady).map(\.address)
    var links: [Link] = []
    if ready.contains(where: { $0.family == .v4 }) { links.append(Link(interface: index, isV6: false)) }
    if !flags.contains(.loopback), ready.contains(where: { $0.family == .v6 && $0.isLinkLocal }) {
      links.append(Link(interface: index, isV6: true))
    }
    return links
  }

  /// The addresses within reach that other devices may use from now on.
  fileprivate func own(_ reach: Reach) -> [IPAddress] {
    addresses.filter { $0.isReady && !$0.isDeprecated && reach.includes($0.address) }
      .compactMap { IPAddress($0.address.bytes) }
  }
}
