import MigrationEngine
import MigrationWire

/// The addresses by which the devices of a relayed session may reach each other. In this world, a
/// round of tries succeeds or not, by chance.
extension Scene {
  var features: Features { relay == nil ? [] : .ways }

  var ownWays: OwnWays? {
    guard relay != nil else { return nil }
    let listening = Way(address: [10, 0, 0, 1], port: 47_470)
    return OwnWays(Ways(listening: [listening], dialling: [Way(address: [192, 0, 2, 1], port: 5000)]), port: 5000)
  }
}
