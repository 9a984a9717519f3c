import MigrationEngine
import MigrationSystem

/// Which addresses are tried.
enum DialRoute: Sendable {
  /// These, in this order.
  case known([SocketAddress])
  /// The addresses of a host. The address of the last success comes first, if it is among them.
  case resolved(HostAndPort, first: SocketAddress?)
  /// An address with its port, as an earlier session has noted it.
  case remembered(String)

  /// At least one.
  func addresses() throws(TransferFailure) -> [SocketAddress] {
    switch self {
    case .known(let addresses): return addresses
    case .resolved(let target, let first):
      let addresses = try Dialing.addresses(of: target)
      guard let first, addresses.contains(first) else { return addresses }
      return [first] + addresses.filter { $0 != first }
    case .remembered(let text):
      guard let target = try? HostAndPort.parse(text, defaultPort: 0), target.port != 0 else {
        throw TransferFailure(.connectionLost, "the other device's last address is unknown")
      }
      return try Dialing.addresses(of: target)
    }
  }

  /// The name that the user has typed, unless it is an address in figures.
  var name: String? {
    guard case .resolved(let target, _) = self, let host = target.host else { return nil }
    let figures = host.split(separator: "%", maxSplits: 1).first.map(String.init) ?? host
    return SocketAddress(numeric: figures, port: target.port) == nil ? host : nil
  }
}
