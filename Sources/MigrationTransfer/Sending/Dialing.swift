import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Reaches the receiver: the first of its addresses that answers.
struct Dialing: Sendable {
  /// The time for the addresses to answer, for one of them to shake hands, and then for the
  /// receiver to reach READY.
  private static let patience = Duration.seconds(Patience.pairing)

  /// When a step that begins now is given up.
  static var deadline: BootInstant { BootInstant.now().advanced(by: patience) }

  let context: TLSContext
  /// Whether the connections are for a way on which larger packets may vanish.
  var hasSmallSegments = false
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

  /// The addresses behind the user's words, in the order in which they are tried.
  static func addresses(of target: HostAndPort) throws(TransferFailure) -> [SocketAddress] {
    do {
      let addresses = try SocketAddress.resolve(host: target.host, port: target.port, passive: false)
      return AddressRace.alternating(addresses) { $0.family == addresses[0].family }
    } catch {
      throw TransferFailure(
        .connectionLost, error.description, hint: "Check the name, or use the address that the other device shows.")
    }
  }

  /// Connects, and shakes hands with the address that answers first; if that fails, with the
  /// others.
  ///
  /// `isReached` is set once TCP has connected: a later failure counts as the receiver's, not the
  /// network's.
  func connect(
    to addresses: [SocketAddress], wakeup: Wakeup, isReached: Flag = Flag()
  ) throws(ConnectionError) -> Connection {
    var left = addresses
    var failure: ConnectionError?
    while !left.isEmpty {
      let socket: StreamSocket
      do throws(ConnectionError) {
        socket = try reach(left, wakeup)
      } catch {
        // The words of a device that answered are worth more than the silence of the others.
        throw error.code == .stopped ? error : failure ?? error
      }
      isReached.set()
      let address = socket.remoteAddress
      left.removeAll { $0 == address }
      do throws(ConnectionError) {
        return try secure(socket, wakeup, Self.deadline)
      } catch {
        if error.code == .stopped { throw error }
        failure = error
      }
    }
    throw failure ?? ConnectionError(.lost, "the other device has no address")
  }

  private func secure(
    _ socket: consuming StreamSocket, _ wakeup: Wakeup, _ deadline: BootInstant
  ) throws(ConnectionError) -> Connection {
    var connection = try Connection(socket, context, wakeup: wakeup, isStopped: isStopped)
    try connection.handshake(until: deadline)
    return connection
  }

  private func reach(_ addresses: [SocketAddress], _ wakeup: Wakeup) throws(ConnectionError) -> StreamSocket {
    do throws(Race.Failure) {
      return try Race(
        addresses: addresses, hasSmallSegments: hasSmallSegments, patience: Patience.pairing, wakeup: wakeup,
        isStopped: isStopped
      ).run()
    } catch {
      switch error {
      case .stopped: throw ConnectionError(.stopped, "it was stopped")
      case .lost(_, _, let error), .broken(let error): throw ConnectionError(error)
      }
    }
  }
}
