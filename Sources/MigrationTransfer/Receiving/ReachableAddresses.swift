import MigrationSystem

/// At which of a device's addresses others find it.
struct ReachableAddresses: Equatable, Sendable {
  /// All of them, most useful first: what works everywhere before what works on one network only, and last what works on this
  /// device only; of what works equally far, the addresses that default routes use come first, and IPv4 before IPv6, because it
  /// is shorter to type.
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

  /// Those that are worth showing: what works on one network only, or on this device only, where there is nothing better.
  var shown: [SocketAddress] {
    let wide = all.filter { !$0.isLoopback && !$0.isLinkLocal }
    if !wide.isEmpty { return wide }
    let near = all.filter { !$0.isLoopback }
    return near.isEmpty ? all : near
  }
}
