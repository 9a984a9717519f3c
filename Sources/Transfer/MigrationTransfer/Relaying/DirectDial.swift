import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// A sender's round of reaching the receiver past their relay (Protocol §6.9). It dials the
/// receiver's addresses and accepts the receiver's connections, all at the port that it has toward
/// the relay: so the router of each end lets the other end in.
struct DirectDial: Sendable {
  let context: TLSContext
  /// The receiver's key.
  let receiver: KeyFingerprint
  let hasSmallSegments: Bool
  /// The local port of the control connection.
  let port: UInt16
  /// The length of the round in seconds.
  var length = DirectRounds.length
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

  /// The most handshakes at a time. Further connections wait in the kernel.
  static let mostGreetings = 32

  /// Returns the first connection on which the receiver has shown its key. Blocks for up to a round.
  ///
  /// All handshakes go on at the same time: a handshake that hangs delays no dial.
  func run(_ addresses: [InternetAddress], _ wakeup: Wakeup) throws(ConnectionError) -> Connection {
    let race = Race(
      addresses: addresses.map { SocketAddress($0) }, isRound: true, hasSmallSegments: hasSmallSegments,
      port: .shared(port), patience: length, wakeup: wakeup, isStopped: isStopped)
    // Without a listening socket, only this end's dialling can succeed.
    let listener = try? ListeningSocket(host: nil, port: port, sharesPort: true)
    do throws(Race.End) {
      var running = try Race.Running(race, with: listener)
      var greetings: [Greeting] = []
      while true {
        // One at a time: others may connect without an end.
        let hasRoom = greetings.count < Self.mostGreetings
        if let socket = try running.take(accepting: hasRoom), let greeting = greeting(on: socket, wakeup) {
          greetings.append(greeting)
        }
        greetings.removeAll { !$0.goOn() }
        if let done = greetings.first(where: \.isDone), let connection = done.connection.take() { return connection }
        try running.wait(or: greetings.compactMap(\.interest))
      }
    } catch {
      throw ConnectionError(error)
    }
  }

  private func greeting(on socket: consuming StreamSocket, _ wakeup: Wakeup) -> Greeting? {
    do throws(ConnectionError) {
      return Greeting(
        try Connection(socket, context, pinned: receiver, wakeup: wakeup, isStopped: isStopped))
    } catch {
      return nil
    }
  }

  /// A handshake that has not finished.
  private final class Greeting {
    var connection: Connection?
    private(set) var isDone = false

    init(_ connection: consuming Connection) { self.connection = consume connection }

    /// Continues as far as that needs no wait; false if it is another device, or none of these.
    func goOn() -> Bool {
      do throws(ConnectionError) {
        isDone = try connection?.goOnShakingHands() ?? false
        return true
      } catch {
        return false
      }
    }

    var interest: Poller.Interest? { connection?.interest(isReading: true) }
  }
}

extension SocketAddress {
  init(_ address: InternetAddress) {
    self.init(family: address.isIPv6 ? .v6 : .v4, bytes: address.address, port: address.port)
  }
}

extension InternetAddress {
  init(_ address: SocketAddress) { self.init(address: address.bytes, port: address.port) }
}
