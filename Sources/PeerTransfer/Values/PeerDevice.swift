import MigrationDiscovery
import MigrationEngine
import MigrationSystem

/// Another device: its name and its address. Neither proves its identity; only the code does.
public struct PeerDevice: Hashable, Sendable {
  /// The name that it gives itself, unchanged; nil if it is unknown. To show it, use `description`.
  public let name: String?
  /// The most useful of its numeric addresses, or the name that the user gave.
  public let host: String
  /// Its port; nil if it is unknown.
  public let port: UInt16?
  /// The number of the run that uses the name, if the device has announced it.
  private let instance: UInt64?
  /// The device as a search found it, with all addresses.
  let found: NearbyDevice?

  init(name: String?, host: String, port: UInt16? = nil, instance: UInt64? = nil, found: NearbyDevice? = nil) {
    self.name = name
    self.host = host
    self.port = port
    self.instance = instance
    self.found = found
  }

  init(_ device: DeviceAddress) {
    self.init(name: device.name, host: device.host, port: device.port, instance: device.instance)
  }

  /// Nil for a device without an address.
  init?(_ found: NearbyDevice) {
    guard let address = found.addresses.first else { return nil }
    self.init(
      name: found.label, host: address.hostDescription, port: address.port, instance: found.instance, found: found)
  }
}

extension PeerDevice: CustomStringConvertible {
  /// Name and address, safe to show: `new-laptop (192.0.2.7)`.
  public var description: String { DeviceAddress(name: name, host: host, port: port ?? 0).shown }
}
