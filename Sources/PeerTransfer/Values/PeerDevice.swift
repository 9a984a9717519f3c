import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// Another device: what it calls itself, and where it is. Neither proves who it is; the code does that.
public struct PeerDevice: Hashable, Sendable {
  /// What it calls itself, as it is; nil where that is not known. For showing it there is `description`.
  public let name: String?
  /// Its address in figures, or the name that its user was told.
  public let host: String
  /// Where it listens; nil where that is not known.
  public let port: UInt16?

  init(name: String?, host: String, port: UInt16?) {
    self.name = name
    self.host = host
    self.port = port
  }

  init(_ device: DeviceAddress) { self.init(name: device.name, host: device.host, port: device.port) }

  init(_ nearby: Nearby) { self.init(name: nearby.label, host: nearby.address, port: nil) }

  /// By the most useful of its addresses.
  init?(_ found: NearbyDevice) {
    guard let address = found.addresses.first else { return nil }
    self.init(name: found.label, host: address.hostDescription, port: address.port)
  }
}

extension PeerDevice: CustomStringConvertible {
  /// Name and address, safe to show: `new-laptop (192.0.2.7)`.
  public var description: String { DeviceAddress(name: name, host: host, port: port ?? 0).shown }
}
