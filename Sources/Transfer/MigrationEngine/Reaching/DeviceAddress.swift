package import MigrationWire

/// Another device as a person sees it: its address and its local name. It has not proved its
/// identity.
package struct DeviceAddress: Equatable, Sendable {
  /// How many characters of a name are shown.
  private static let shownLength = 64

  /// The unescaped name that led to the address; nil where only the address is known.
  package let name: String?
  /// The numeric address, without the port.
  package let host: String
  package let port: UInt16
  /// The identifier of its run, if a search has found it and it gives one.
  package let instance: UInt64?
  /// Whether this is a relay, at which the other device may wait.
  package let isRelay: Bool

  package init(name: String?, host: String, port: UInt16, instance: UInt64? = nil, isRelay: Bool = false) {
    self.isRelay = isRelay
    self.name = name
    self.host = host
    self.port = port
    self.instance = instance
  }

  /// Name and address, safe to show: "new-laptop (192.0.2.7)".
  package var shown: String {
    isRelay ? "the other device, through \(VisibleText.of(host))" : Self.shown(name, host)
  }

  /// The name alone, or the address of a device without one; safe to show.
  package var shownName: String { name.flatMap { Self.shownName($0) } ?? VisibleText.of(host) }

  /// A name and an address, safe to show. The name is in quotes unless it is one plain word, so
  /// that it cannot bring an address of its own.
  package static func shown(_ name: String?, _ host: String) -> String {
    guard let shown = name.flatMap({ shownName($0) }) else { return VisibleText.of(host) }
    return "\(shown) (\(VisibleText.of(host)))"
  }

  /// A name, safe to show; nil where it is empty.
  private static func shownName(_ name: String) -> String? {
    if name.isEmpty { return nil }
    return VisibleText.listed(name.prefix(shownLength).utf8) + (name.count > shownLength ? "…" : "")
  }
}

extension Failure {
  /// No address accepted a connection.
  package init(unreached device: DeviceAddress, by obstacle: AddressRace.Obstacle) {
    let (shown, port) = (device.isRelay ? "the relay \(VisibleText.of(device.host))" : device.shown, device.port)
    switch obstacle {
    case .refused:
      self.init(
        .unreachable, "nothing listens at \(shown) on port \(port)",
        hint: device.isRelay
          ? "Check its name and port, and whether it runs." : "Start 'peer receive' there, or check the port.")
    case .silent:
      self.init(
        .unreachable, "\(shown) does not answer on port \(port)",
        hint: "Check the address. A firewall there may block the connection: allow TCP port \(port). "
          + "A network for guests or a VPN may keep the devices apart.")
    case .noRoute:
      self.init(
        .unreachable, "no route to \(shown)",
        hint: "Check the address, and that both devices are in the same network. "
          + "A firewall may answer so too: there, allow TCP port \(port).")
    case .forbidden:
      self.init(
        .unreachable, "a firewall forbids connections to \(shown) on port \(port)",
        hint: "Allow TCP port \(port) there and, if this device has a firewall of its own, here.")
    case .other(let clause):
      self.init(.unreachable, "\(shown) cannot be reached: \(clause)", hint: "Check the address and the port.")
    }
  }
}
