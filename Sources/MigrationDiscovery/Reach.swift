package import MigrationSystem

/// The addresses of this device on which a service accepts connections: only these are announced.
package enum Reach: Equatable, Sendable {
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
