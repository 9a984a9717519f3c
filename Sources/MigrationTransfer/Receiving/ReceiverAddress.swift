import MigrationEngine
import MigrationSystem
import MigrationWire

/// Where a receiver listens, and where it can be found.
extension ListeningSocket {
  /// Listens where the user wants; if that says no port, where an unfinished transfer's sender
  /// expects it.
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
