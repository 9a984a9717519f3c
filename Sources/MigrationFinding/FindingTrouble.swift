package import MigrationSystem

/// Why devices on the network cannot be found at the moment. Said once; what happens later may mend it.
///
/// The description is a lower-case clause.
package enum FindingTrouble: Error, Equatable, Sendable, CustomStringConvertible {
  /// This device is in no network.
  case noNetwork
  /// The system refuses a socket: another program has the port for itself, or the program may use no such sockets.
  case refused(SystemError)

  package var description: String {
    switch self {
    case .noNetwork: "this device is connected to no network"
    case .refused(let error): error.description
    }
  }
}
