package import MigrationSystem

/// Searches for receivers on every network of this device, until it is stopped or deallocated.
package final class Search: Sendable {
  private static let patience: Duration = .milliseconds(500)

  private let thread: LinkThread

  /// Starts searching. Each report contains all current receivers, by their labels.
  ///
  /// The reports come on the search's own thread, which must not be blocked. Trouble is reported at
  /// most once, and the search continues: a network may come, and a port may become free. Then nil
  /// is reported.
  package init(
    news: @escaping @Sendable ([NearbyDevice]) -> Void,
    trouble: @escaping @Sendable (FindingTrouble?) -> Void = { _ in }
  ) throws(SystemError) {
    thread = try LinkThread(
      "search", Browser(random: try SystemRandom.number()), tell: news, trouble: trouble)
  }

  /// Stops the search, and returns when no more reports can come; after half a second in any case.
  /// Do not call it on the search's own thread.
  package func stop() {
    thread.end()
    _ = thread.wait(until: .now() + Self.patience)
  }
}

/// The addresses of this device on which a service accepts connections: only these are announced.
package enum ListeningAddresses: Equatable, Sendable {
  case everywhere
  /// All IPv4 addresses.
  case versionFour
  /// One address.
  case address(SocketAddress)

  /// The reach of a service that listens on an address, which may be the address for all addresses;
  /// the IPv6 one includes IPv4.
  package init(listeningAt address: SocketAddress) {
    let isForAll = address.bytes.allSatisfy { $0 == 0 }
    self = isForAll ? (address.family == .v4 ? .versionFour : .everywhere) : .address(address)
  }

  /// Whether the service accepts connections on an address; the port does not matter.
  func includes(_ address: SocketAddress) -> Bool {
    switch self {
    case .everywhere: true
    case .versionFour: address.family == .v4
    case .address(let own): own.bytes == address.bytes && own.scope == address.scope
    }
  }
}
