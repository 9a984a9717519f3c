package import MigrationEngine
package import MigrationSystem

/// A receiver that a search has found. What it says of itself is not proved.
package struct NearbyDevice: Hashable, Sendable {
  /// What it calls itself, as it is.
  package let label: String
  /// Which of its runs it is, where it says so.
  package let instance: UInt64?
  /// With ports, the most useful one first; at least one.
  package let addresses: [SocketAddress]

  package init(label: String, instance: UInt64?, addresses: [SocketAddress]) {
    self.label = label
    self.instance = instance
    self.addresses = addresses
  }
}

/// Finds the receivers that wait in this network.
package protocol NearbySearch: Sendable {
  /// Looks around for so many seconds, or until the signal is set; blocks meanwhile.
  func look(for seconds: Double, unless stop: StopSignal) throws(Fault) -> [NearbyDevice]
}
