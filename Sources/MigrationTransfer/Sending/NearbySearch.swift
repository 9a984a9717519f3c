package import MigrationEngine
package import MigrationSystem

/// A receiver that a search has found. Its own statements prove nothing.
package struct NearbyDevice: Hashable, Sendable {
  /// Its label, unescaped.
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
