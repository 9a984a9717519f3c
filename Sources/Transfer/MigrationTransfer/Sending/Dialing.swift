package import MigrationDiscovery
import MigrationEngine
package import MigrationSystem
import MigrationTLS
package import MigrationWire

/// Connects to the receiver at the first of its addresses that answers.
struct Dialing: Sendable {
  /// The time for each of these steps: an address answers; it shakes hands; the receiver reaches
  /// READY.
  private static let patience = Duration.seconds(ReadyLimits.pairing)

  /// The deadline of a step that begins now.
  static var deadline: BootInstant { BootInstant.now().advanced(by: patience) }

  let context: TLSContext
  /// The receiver's key, if it is known: then no other device sees this device's key.
  let pinned: KeyFingerprint?
  /// Whether larger packets may vanish on the way to the receiver.
  var hasSmallSegments = false
  /// How a relay joins the connection with the receiver, if the addresses are a relay's.
  var relay: RelayCalling?
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

  /// The addresses of a host, in the order in which they are tried.
  static func addresses(of target: HostAndPort) throws(Failure) -> [SocketAddress] {
    do {
      let addresses = try SocketAddress.resolve(host: target.host, port: target.port, passive: false)
      return AddressRace.alternating(addresses) { $0.family == addresses[0].family }
    } catch {
      throw Failure(
        .unreachable, error.description, hint: "Check the name, or use the address that the other device shows.")
    }
  }

  /// Connects, and shakes hands with the address that answers first; if that fails, with the
  /// others.
  ///
  /// `isReached` is set once TCP has connected: a later failure counts as the receiver's, not the
  /// network's.
  func connect(
    to addresses: [SocketAddress], wakeup: Wakeup, isReached: AtomicFlag = AtomicFlag()
  ) throws(ConnectionError) -> Connection {
    var left = addresses
    var failure: ConnectionError?
    while !left.isEmpty {
      let socket: StreamSocket
      do throws(ConnectionError) {
        socket = try reach(left, wakeup)
      } catch {
        // The answer of a device says more than the silence of the others.
        throw error.code == .stopped ? error : failure ?? error
      }
      isReached.set()
      let address = socket.remoteAddress
      left.removeAll { $0 == address }
      do throws(ConnectionError) {
        return try secure(socket, wakeup, Self.deadline)
      } catch {
        switch error.code {
        case .stopped, .stranger: throw error
        default: failure = error
        }
      }
    }
    throw failure ?? ConnectionError(.lost, "the other device has no address")
  }

  private func secure(
    _ socket: consuming StreamSocket, _ wakeup: Wakeup, _ deadline: BootInstant
  ) throws(ConnectionError) -> Connection {
    let seen = try relay?.run(on: socket, wakeup: wakeup, isStopped: isStopped, until: deadline)
    var connection = try Connection(socket, context, pinned: pinned, wakeup: wakeup, isStopped: isStopped)
    connection.seen = seen
    // A relay has taken its own time.
    try connection.handshake(until: relay == nil ? deadline : Self.deadline)
    return connection
  }

  private func reach(_ addresses: [SocketAddress], _ wakeup: Wakeup) throws(ConnectionError) -> StreamSocket {
    let race = Race(
      addresses: addresses, hasSmallSegments: hasSmallSegments, port: relay == nil ? .any : .shareable,
      patience: ReadyLimits.pairing, wakeup: wakeup, isStopped: isStopped)
    return try Race.End.mapped(race.run()) { ConnectionError($0) }
  }

  /// The source of the addresses to try.
  enum Route: Sendable {
    /// These, in this order.
    case known([SocketAddress])
    /// The addresses of a host. The address of the last success comes first, if it is among them.
    case resolved(HostAndPort, first: SocketAddress?)
    /// An address with its port, as an earlier session has noted it.
    case remembered(String)
    /// A receiver that waits at a relay: at a place for pairing, at the meeting of its pairing for
    /// everything else.
    case relayed(RelayAccess, RelayPlace?)

    /// At least one.
    func addresses() throws(Failure) -> [SocketAddress] {
      switch self {
      case .known(let addresses): return addresses
      case .resolved(let target, let first):
        let addresses = try Dialing.addresses(of: target)
        guard let first, addresses.contains(first) else { return addresses }
        return [first] + addresses.filter { $0 != first }
      case .remembered(let text):
        guard let target = try? HostAndPort.parse(text, defaultPort: 0), target.port != 0 else {
          throw Failure(.unreachable, "the other device's last address is unknown")
        }
        return try Dialing.addresses(of: target)
      case .relayed(let access, _): return try Dialing.addresses(of: access.place)
      }
    }

    /// The relay of the route.
    var relay: RelayAccess? { if case .relayed(let access, _) = self { access } else { nil } }

    /// The name that the user has typed, unless it is a numeric address.
    var name: String? {
      guard case .resolved(let target, _) = self, let host = target.host else { return nil }
      let figures = host.split(separator: "%", maxSplits: 1).first.map(String.init) ?? host
      return SocketAddress(numeric: figures, port: target.port) == nil ? host : nil
    }
  }
}

extension ConnectionError {
  /// No connection was made.
  init(_ failure: Race.End) {
    switch failure {
    case .stopped: self.init(.stopped, "it was stopped")
    case .lost(_, _, let error), .broken(let error): self.init(error)
    case .unfit(let failure): self.init(.lost, failure.message)
    }
  }
}

/// Finds the receivers that wait in this network.
package protocol NearbySearch: Sendable {
  /// Searches for some seconds, or until the signal is set. Blocks meanwhile.
  func look(for seconds: Double, unless stop: StopSignal) throws(Failure) -> [NearbyDevice]
}
