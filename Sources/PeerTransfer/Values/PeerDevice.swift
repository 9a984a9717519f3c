import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// Another device: what it calls itself, and where it is. Neither proves who it is; the code does that.
public struct PeerDevice: Hashable, Sendable {
  /// What it calls itself, as it is; nil where that is not known. For showing it there is `description`.
  public let name: String?
  /// The most useful of its addresses in figures, or the name that its user was told.
  public let host: String
  /// Where it listens; nil where that is not known.
  public let port: UInt16?
  /// Which of the runs of its name it is, where it has said so.
  private let instance: UInt64?
  /// What a search has found, with all addresses.
  let found: NearbyDevice?

  init(name: String?, host: String, port: UInt16? = nil, instance: UInt64? = nil, found: NearbyDevice? = nil) {
    self.name = name
    self.host = host
    self.port = port
    self.instance = instance
    self.found = found
  }

  init(_ device: DeviceAddress) { self.init(name: device.name, host: device.host, port: device.port) }

  init(_ nearby: Nearby) { self.init(name: nearby.label, host: nearby.address, instance: nearby.instance) }

  /// Nil where it has no address.
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
