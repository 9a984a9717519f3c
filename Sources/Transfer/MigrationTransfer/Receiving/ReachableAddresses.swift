import MigrationEngine
package import MigrationSystem
import MigrationWire

/// The listening socket of a receiver.
extension ListeningSocket {
  /// Listens at the user's address; without a port, at the port that an unfinished transfer's sender
  /// expects.
  init(_ wanted: HostAndPort, isPortChosen: Bool, remembered: UInt16?) throws(Failure) {
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
      throw Failure(.failed, error.description, hint: hint)
    }
  }

  /// The addresses at which other devices may reach this device, the most useful first.
  package var reachableAddresses: [SocketAddress] {
    guard address.isUnspecified, let all = try? SocketAddress.localAddresses(port: address.port), !all.isEmpty else {
      return [address]
    }
    return all.mostUsefulFirst(preferring: [.v4, .v6].compactMap { SocketAddress.ofDefaultRoute($0) })
  }
}

extension [SocketAddress] {
  /// Sorts the addresses of a device's interfaces, the most useful first: addresses that work
  /// everywhere, then link-local addresses, then loopback addresses. Among equals, the addresses of
  /// default routes come first, and IPv4 before IPv6, because it is shorter to type.
  func mostUsefulFirst(preferring preferred: [SocketAddress]) -> [SocketAddress] {
    let hosts = preferred.map(\.hostDescription)
    func rank(_ address: SocketAddress) -> Int {
      (address.isLoopback ? 8 : 0) + (address.isLinkLocal ? 4 : 0)
        + (hosts.contains(address.hostDescription) ? 0 : 2) + (address.family == .v6 ? 1 : 0)
    }
    return enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
  }

  /// The addresses that are worth showing: addresses of one network, or of this device only, if
  /// there are no better ones.
  var worthShowing: [SocketAddress] {
    let wide = filter { !$0.isLoopback && !$0.isLinkLocal }
    if !wide.isEmpty { return wide }
    let near = filter { !$0.isLoopback }
    return near.isEmpty ? self : near
  }

  /// Whether every address is one of a tunnel's, such as a VPN's.
  func areInTunnels(of interfaces: [NetworkInterface]) -> Bool {
    let own = interfaces.filter { $0.flags.contains(.pointToPoint) }.flatMap(\.addresses).map(\.address.hostDescription)
    return !isEmpty && allSatisfy { own.contains($0.hostDescription) }
  }
}
