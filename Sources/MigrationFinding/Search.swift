import MigrationDiscovery
package import MigrationSystem

/// A receiver that was found on a network.
package struct NearbyReceiver: Hashable, Sendable {
  /// What it calls itself: text from the network, to be escaped before it is shown.
  package let label: String
  /// The number of its run; nil if it names none.
  package let instance: UInt64?
  /// Where it waits, the most useful address first, and at least one. A link-local one has its interface.
  package let addresses: [SocketAddress]

  package init(label: String, instance: UInt64?, addresses: [SocketAddress]) {
    self.label = label
    self.instance = instance
    self.addresses = addresses
  }
}

/// Looks for receivers on every network that this device is in, until it is stopped or goes.
package final class Search: Sendable {
  private static let patience: Duration = .milliseconds(500)

  private let thread: LinkThread

  /// Starts to look. All receivers that are there come with each news, by their labels.
  ///
  /// The news come on the search's own thread, which must not be made to wait. Of trouble it tells at most once, and goes
  /// on: a network may come, and a port become free. Then nil is told.
  package init(
    news: @escaping @Sendable ([NearbyReceiver]) -> Void,
    trouble: @escaping @Sendable (FindingTrouble?) -> Void = { _ in }
  ) throws(SystemError) {
    thread = try LinkThread(
      "search", Browser(random: try SystemRandom.number()), port: MulticastDNS.port,
      tell: { news($0.map(NearbyReceiver.init)) }, trouble: trouble)
  }

  /// Ends it, and returns when no more news come; half a second later in any case. Not for the search's own thread.
  package func stop() {
    thread.end()
    _ = thread.wait(until: .now() + Self.patience)
  }
}

extension NearbyReceiver {
  /// Puts what was found into the words of sockets; the order of the addresses stays.
  init(_ found: Found) {
    let addresses = found.addresses.map {
      SocketAddress(
        family: $0.address.isV6 ? .v6 : .v4, bytes: $0.address.bytes, scope: $0.interface, port: found.port)
    }
    self.init(label: found.name, instance: found.instance, addresses: addresses)
  }
}
