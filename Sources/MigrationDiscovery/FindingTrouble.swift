package import MigrationSystem

/// The reason why devices on the network cannot be found at the moment. It is reported once; later
/// events may remove it.
///
/// The description is a lower-case clause.
package enum FindingTrouble: Error, Equatable, Sendable, CustomStringConvertible {
  /// This device is not connected to a network.
  case noNetwork
  /// The system refuses a socket: another program has exclusive use of the port, or this program
  /// may not use such sockets.
  case refused(SystemError)

  package var description: String {
    switch self {
    case .noNetwork: "this device is not connected to a network"
    case .refused(let error): error.description
    }
  }
}
