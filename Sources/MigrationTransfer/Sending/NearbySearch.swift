package import MigrationDiscovery
package import MigrationEngine
package import MigrationSystem

/// Finds the receivers that wait in this network.
package protocol NearbySearch: Sendable {
  /// Looks around for so many seconds, or until the signal is set; blocks meanwhile.
  func look(for seconds: Double, unless stop: StopSignal) throws(Fault) -> [NearbyDevice]
}
