package import MigrationSystem

/// At which of this device's addresses a service takes connections: no others are told.
package enum Reach: Equatable, Sendable {
  case everywhere
  /// At all addresses of IPv4.
  case versionFour
  /// At one.
  case address(SocketAddress)

  /// Of a service that listens at an address, one that stands for all included; that of IPv6 takes IPv4 as well.
  package init(listeningAt address: SocketAddress) {
    let isForAll = address.bytes.allSatisfy { $0 == 0 }
    self = isForAll ? (address.family == .v4 ? .versionFour : .everywhere) : .address(address)
  }

  /// Whether connections to an address are taken; its port does not matter.
  func includes(_ address: SocketAddress) -> Bool {
    switch self {
    case .everywhere: true
    case .versionFour: address.family == .v4
    case .address(let own): own.bytes == address.bytes && own.scope == address.scope
    }
  }
}
