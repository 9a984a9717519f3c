import MigrationWire

@testable import MigrationEngine

/// Addresses of a relayed session, told by their ports.
enum AddressFixture {
  static let open = InternetAddress(address: [10, 0, 0, 7], port: 4000)
  static let seen = InternetAddress(address: [192, 0, 2, 7], port: 5000)
  static let far = InternetAddress(address: [0x20, 1] + [UInt8](repeating: 1, count: 14), port: 6000)
  /// An address that no device may dial.
  static let loopback = InternetAddress(address: [127, 0, 0, 1], port: 7000)
  static let addresses = Addresses(listening: [open, loopback], dialling: [seen])
  static let own = OwnAddresses(Addresses(listening: [far], dialling: []), port: 6000)
}
