import MigrationEngine
import MigrationSystem

extension ConnectionListener {
  /// Describes the other ends of connections for the engine.
  struct RemoteNames {
    /// For how many seconds the kernel's answer about links is used.
    private static let believed = 5.0

    private let ranges: [AddressRange]
    /// This device's links at one moment.
    private var links: (ranges: [AddressRange], seen: BootInstant)?

    init(mayPair ranges: [AddressRange]) { self.ranges = ranges }

    /// The other end of a connection; whether it has come, or was dialled.
    mutating func remote(at address: SocketAddress, hasCome: Bool = true) -> Remote {
      Remote(
        host: address.hostDescription, address: address.description,
        network: address.network(onLink: isOnLink(address)).description,
        mayPair: hasCome && (ranges.isEmpty || ranges.contains(address)))
    }

    /// The other end of a connection that a relay has joined: all of one relay share its network.
    func remote(at address: SocketAddress, through relay: RelayAccess, _ own: OwnAddresses?) -> Remote {
      let way = RelayAccess.address(through: relay.shown)
      return Remote(
        host: "\(address.hostDescription) \(way)", address: "\(address.description) \(way)", network: way,
        guesser: "\(address.network(onLink: false).description) \(way)", mayPair: ranges.isEmpty, relay: relay.shown,
        own: own)
    }

    private mutating func isOnLink(_ address: SocketAddress) -> Bool {
      let now = BootInstant.now()
      if let links, now.seconds(since: links.seen) < Self.believed { return links.ranges.contains(address) }
      let current = AddressRange.ofLocalLinks()
      links = (current, now)
      return current.contains(address)
    }
  }
}
