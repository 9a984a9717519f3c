import MigrationEngine
import MigrationSystem

/// Says of the address of a connection what an engine wants to know.
struct RemoteNames {
  /// How long an answer of the kernel about links is believed, in seconds.
  private static let believed = 5.0

  /// Where senders may pair from; from everywhere, if there is no range.
  private let ranges: [AddressRange]
  /// This machine's links at one moment.
  private var links: (links: LocalLinks, seen: BootInstant)?

  init(mayPair ranges: [AddressRange]) { self.ranges = ranges }

  /// The other end of a connection.
  mutating func remote(at address: SocketAddress) -> Remote {
    Remote(
      host: address.hostDescription, address: address.description,
      network: address.network(onLink: isOnLink(address)).description,
      mayPair: ranges.isEmpty || ranges.contains { $0.contains(address) })
  }

  private mutating func isOnLink(_ address: SocketAddress) -> Bool {
    let now = BootInstant.now()
    if let links, now.seconds(since: links.seen) < Self.believed { return links.links.contains(address) }
    let current = LocalLinks.current()
    links = (current, now)
    return current.contains(address)
  }
}
