import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// A sender's round of tries to reach the receiver past their relay (Protocol §6.9): dials its
/// addresses, and takes what the receiver dials meanwhile, from the one port that this device has
/// toward the relay. So each end's router lets the other end in.
struct WayRound: Sendable {
  let context: TLSContext
  /// The key of the right device.
  let receiver: KeyFingerprint
  let hasSmallSegments: Bool
  /// That of the control connection.
  let port: UInt16
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

  /// The first connection on which the receiver has shown its key. Blocks as long as a round.
  func run(_ ways: [Way], _ wakeup: Wakeup) throws(ConnectionError) -> Connection {
    let race = Race(
      addresses: ways.others, hasSmallSegments: hasSmallSegments, port: .shared(port), patience: WayRounds.length,
      wakeup: wakeup, isStopped: isStopped)
    guard !race.addresses.isEmpty else { throw ConnectionError(.lost, "the other device has no address") }
    // Without it, the receiver must be the end that is reached.
    let door = try? ListeningSocket(host: nil, port: port, sharesPort: true)
    do throws(Race.Failure) {
      var course = try Race.Course(race, with: door)
      while true {
        let socket = try course.next()
        if let connection = greet(socket, wakeup) { return connection }
        if isStopped() { throw .stopped }
      }
    } catch {
      throw ConnectionError(error)
    }
  }

  /// Shakes hands; nil if it is another device.
  private func greet(_ socket: consuming StreamSocket, _ wakeup: Wakeup) -> Connection? {
    do throws(ConnectionError) {
      var connection = try Connection(socket, context, pinned: receiver, wakeup: wakeup, isStopped: isStopped)
      try connection.handshake(until: .now().advanced(by: .seconds(Self.patience)))
      return connection
    } catch {
      return nil
    }
  }

  /// How many seconds a device has that answers.
  private static let patience = 2.0
}

extension SocketAddress {
  init(_ way: Way) { self.init(family: way.isIPv6 ? .v6 : .v4, bytes: way.address, port: way.port) }
}

extension Way {
  init(_ address: SocketAddress) { self.init(address: address.bytes, port: address.port) }
}

extension [Way] {
  /// Without the addresses of this device, which another network may use for the other one.
  var others: [SocketAddress] {
    let own = Set((try? SocketAddress.localAddresses(port: 0))?.map(\.bytes) ?? [])
    return filter { !own.contains($0.address) }.map { SocketAddress($0) }
  }
}

extension OwnWays {
  /// What this device tells of itself on a connection from `local` to a relay that sees it at
  /// `seen`; nil if the relay is on this device. It listens at `listening`, or at the port of that
  /// connection.
  init?(dialling local: SocketAddress, seen: Way, listening: SocketAddress? = nil) {
    guard !local.isLoopback else { return nil }
    var hosts = (try? SocketAddress.localAddresses(port: local.port)) ?? []
    if let listening, !listening.isUnspecified { hosts = [listening] }
    let own = (hosts.filter { $0.family == .v6 } + hosts.filter { $0.family == .v4 }).map {
      Way(address: $0.bytes, port: local.port)
    }
    let there = listening.map { listening in own.map { Way(address: $0.address, port: listening.port) } } ?? own
    self.init(
      Ways(
        listening: there.filter(\.isDialable), dialling: ([seen] + (listening == nil ? [] : own)).filter(\.isDialable)),
      port: local.port)
  }
}
