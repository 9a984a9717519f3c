import MigrationWire

/// Where another device is, and what it is called here, before it has proved who it is.
package struct DeviceAddress: Equatable, Sendable {
  /// How much of a name is shown.
  private static let shownLength = 64

  /// The name that led to the address, as it is; nil where the address is all that is known.
  package let name: String?
  /// In figures, without the port.
  package let host: String
  package let port: UInt16

  package init(name: String?, host: String, port: UInt16) {
    self.name = name
    self.host = host
    self.port = port
  }

  /// Name and address, safe to show: "new-laptop (192.0.2.7)".
  package var shown: String { Self.shown(name, host) }

  static func shown(_ name: String?, _ host: String) -> String {
    guard let shown = name.flatMap({ shownName($0) }) else { return VisibleText.of(host) }
    return "\(shown) (\(VisibleText.of(host)))"
  }

  /// A name, safe to show; nil where it is empty.
  static func shownName(_ name: String) -> String? {
    if name.isEmpty { return nil }
    return name.count > shownLength ? VisibleText.of(String(name.prefix(shownLength))) + "…" : VisibleText.of(name)
  }
}

extension TransferFailure {
  /// No connection came up to an address.
  package init(unreached device: DeviceAddress, by obstacle: AddressRace.Obstacle) {
    let (shown, port) = (device.shown, device.port)
    switch obstacle {
    case .refused:
      self.init(
        .connectionLost, "nothing listens at \(shown) on port \(port)",
        hint: "Start \"peer receive\" there, or check the port.")
    case .silent:
      self.init(
        .connectionLost, "\(shown) does not answer on port \(port)",
        hint: "Check the address. A firewall there may drop what arrives: allow TCP port \(port).")
    case .noWay:
      self.init(
        .connectionLost, "there is no way to \(shown)",
        hint: "Check the address, and that both devices are in the same network.")
    case .other(let clause):
      self.init(.connectionLost, "\(shown) cannot be reached: \(clause)", hint: "Check the address and the port.")
    }
  }
}
