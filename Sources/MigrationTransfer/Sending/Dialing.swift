import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Reaches the receiver: one address after the other, each with its time.
struct Dialing: Sendable {
  /// How long an address may take to answer and to shake hands, and then the receiver over what stands before READY.
  private static let patience = Duration.seconds(Patience.pairing)

  /// When a step that begins now is given up.
  static var deadline: BootInstant { BootInstant.now().advanced(by: patience) }

  let target: HostAndPort
  let context: TLSContext
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

  /// The addresses behind the user's words.
  func addresses() throws(TransferFailure) -> [SocketAddress] {
    do {
      return try SocketAddress.resolve(host: target.host, port: target.port, passive: false)
    } catch {
      throw TransferFailure(
        .connectionLost, error.description, hint: "Check the name, or use the address that the other device shows.")
    }
  }

  /// Connects and shakes hands with the first address that answers.
  ///
  /// `isReached` is set once TCP has connected: what fails afterwards is the door's doing, and not the way's.
  func connect(
    to addresses: [SocketAddress], wakeup: Wakeup, isReached: Flag = Flag()
  ) throws(ConnectionError) -> Connection {
    var last = ConnectionError(.lost, "the other device has no address")
    for address in addresses {
      do throws(ConnectionError) {
        return try connect(to: address, wakeup, isReached)
      } catch {
        if error.code == .stopped { throw error }
        last = error
      }
    }
    throw last
  }

  private func connect(
    to address: SocketAddress, _ wakeup: Wakeup, _ isReached: Flag
  ) throws(ConnectionError) -> Connection {
    let deadline = Self.deadline
    let socket = try reach(address, wakeup, deadline)
    isReached.set()
    var connection = try Connection(socket, context, wakeup: wakeup, isStopped: isStopped)
    try connection.handshake(until: deadline)
    return connection
  }

  private func reach(
    _ address: SocketAddress, _ wakeup: Wakeup, _ deadline: BootInstant
  ) throws(ConnectionError) -> StreamSocket {
    try ConnectionError.system { () throws(SystemError) in
      let socket = try StreamSocket.connect(to: address)
      var poller = try Poller()
      while try !socket.finishConnecting() {
        var interests = [Poller.Interest(socket.raw, .writable), Poller.Interest(wakeup.raw, .readable)]
        guard try poller.wait(&interests, until: deadline) else {
          throw SystemError(reason: "it does not answer", operation: "connect", subject: address.description)
        }
        if !interests[1].ready.isEmpty {
          wakeup.clear()
          if isStopped() { throw SystemError(reason: "it was stopped", operation: "connect") }
        }
      }
      return socket
    }
  }
}
