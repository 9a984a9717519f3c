import MigrationEngine
import MigrationSystem
import MigrationWire

/// The listening socket of a receiver.
extension ListeningSocket {
  /// Listens at the user's address; without a port, at the port that an unfinished transfer's sender
  /// expects.
  init(_ wanted: HostAndPort, isPortChosen: Bool, remembered: UInt16?) throws(TransferFailure) {
    if !isPortChosen || wanted.port == 0, let remembered,
      let socket = try? ListeningSocket(host: wanted.host, port: remembered)
    {
      self = socket
      return
    }
    do {
      self = try ListeningSocket(host: wanted.host, port: wanted.port)
    } catch {
      let hint =
        error.isAddressInUse
        ? "Another program uses port \(wanted.port); choose another with --listen, or 0 for any."
        : "Check the address given with --listen."
      throw TransferFailure(.failed, error.description, hint: hint)
    }
  }

  /// The addresses at which others may find this device.
  var reachableAddresses: ReachableAddresses {
    let isEverywhere = address.hostDescription == "::" || address.hostDescription == "0.0.0.0"
    guard isEverywhere, let all = try? SocketAddress.localAddresses(port: address.port), !all.isEmpty else {
      return ReachableAddresses([address], ofDefaultRoutes: [])
    }
    return ReachableAddresses(
      all, ofDefaultRoutes: [.v4, .v6].compactMap { SocketAddress.ofDefaultRoute($0) })
  }
}

/// The addresses at which other devices find this one.
struct ReachableAddresses: Equatable, Sendable {
  /// All addresses, the most useful first: those that work everywhere, then those of one network,
  /// and last those of this device only. Among equals, the addresses of default routes come first,
  /// and IPv4 before IPv6, because it is shorter to type.
  let all: [SocketAddress]

  /// Sorts the addresses of a device's interfaces. The default routes' may be among them.
  init(_ addresses: [SocketAddress], ofDefaultRoutes preferred: [SocketAddress]) {
    let hosts = preferred.map(\.hostDescription)
    func rank(_ address: SocketAddress) -> Int {
      (address.isLoopback ? 8 : 0) + (address.isLinkLocal ? 4 : 0)
        + (hosts.contains(address.hostDescription) ? 0 : 2) + (address.family == .v6 ? 1 : 0)
    }
    all = addresses.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
  }

  /// The addresses that are worth showing: addresses of one network, or of this device only, if
  /// there are no better ones.
  var shown: [SocketAddress] {
    let wide = all.filter { !$0.isLoopback && !$0.isLinkLocal }
    if !wide.isEmpty { return wide }
    let near = all.filter { !$0.isLoopback }
    return near.isEmpty ? all : near
  }
}
