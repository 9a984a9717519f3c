import MigrationSystem

/// At which of a device's addresses others find it.
struct ReachableAddresses: Equatable, Sendable {
  /// All addresses, the most useful first: those that work everywhere, then those of one network,
  /// and last those of this device only. Among equals, the addresses of default routes come first,
  /// and IPv4 before IPv6, because it is shorter to type.
  let all: [SocketAddress]

  /// Those of a device's interfaces; the default routes' are among them or not.
  init(_ addresses: [SocketAddress], ofDefaultRoutes preferred: [SocketAddress]) {
    let hosts = preferred.map(\.hostDescription)
    func rank(_ address: SocketAddress) -> Int {
      (address.isLoopback ? 8 : 0) + (address.isLinkLocal ? 4 : 0)
        + (hosts.contains(address.hostDescription) ? 0 : 2) + (address.family == .v6 ? 1 : 0)
    }
    all = addresses.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
  }

  /// The addresses that are worth showing. Those of one network, or of this device only, are shown
  /// where there are no better ones.
  var shown: [SocketAddress] {
    let wide = all.filter { !$0.isLoopback && !$0.isLinkLocal }
    if !wide.isEmpty { return wide }
    let near = all.filter { !$0.isLoopback }
    return near.isEmpty ? all : near
  }
}
