package import MigrationSystem

/// Announces a service on every network of this device, until it is withdrawn or deallocated.
///
/// It handles networks that come and go, and the lack of any network.
package final class Announcement: Sendable {
  /// The time that the goodbye may take: it is sent immediately, unless the machine is very busy.
  private static let patience: Duration = .milliseconds(500)

  private let thread: LinkThread

  /// Starts announcing.
  ///
  /// `reach` is where the service listens, which may stand for all addresses: only the addresses on which it
  /// accepts connections are announced. Without it, all are.
  /// `announced` gets the label that the service has, when it is announced on a link to other
  /// devices. Both closures are called on the announcement's own thread and must not block it. Trouble
  /// is reported at most once, and announcing continues: a network may come, and a port may become free.
  package init(
    _ service: Service, reaching reach: SocketAddress? = nil,
    announced: @escaping @Sendable (_ name: String) -> Void = { _ in },
    trouble: @escaping @Sendable (FindingTrouble) -> Void = { _ in }
  ) throws(SystemError) {
    thread = try LinkThread(
      "announcement", Responder(service, random: try SystemRandom.number()), reaching: reach, tell: announced,
      trouble: { $0.map(trouble) })
  }

  /// Starts to tell the networks that the service has ended, and returns immediately.
  package func withdraw() { thread.end() }

  /// Withdraws the service, and returns when the networks have been told; after half a second in
  /// any case.
  package func end() {
    thread.end()
    _ = thread.wait(until: .now() + Self.patience)
  }
}

extension SystemRandom {
  /// An unpredictable number.
  static func number() throws(SystemError) -> UInt64 {
    try bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// The reason why devices on the network cannot be found at the moment. It is reported once; later
/// events may remove it.
///
/// The description is a lower-case clause.
package enum FindingTrouble: Equatable, Sendable, CustomStringConvertible {
  /// This device is not connected to a network.
  case noNetwork
  /// Its only networks are tunnels, such as a VPN, in which no device can be found.
  case onlyTunnels
  /// The system refuses a socket: another program has exclusive use of the port, or this program
  /// may not use such sockets.
  case refused(SystemError)

  package var description: String {
    switch self {
    case .noNetwork: "this device is not connected to a network"
    case .onlyTunnels: "this device is connected by a VPN alone, in which no device can be found"
    case .refused(let error): error.description
    }
  }
}
