import MigrationEngine
import MigrationSystem

/// The listening socket and the lobby behind it: takes connections as fast as they come. The loop's
/// thread owns it.
struct Entrance: ~Copyable {
  /// The result of one look at the kernel's queue.
  enum Arrival {
    case connection(ConnectionID, SocketAddress)
    /// It stays in the queue for lack of descriptors; a connection of the lobby may make room for
    /// it.
    case shortage
    case nothing
  }

  /// How many connections are taken before those in the lobby are looked at.
  static let batch = 64
  /// How long nothing is taken where the kernel gives nothing.
  private static let pause = Duration.milliseconds(100)

  var lobby = Lobby()
  private let listening: ListeningSocket
  private var pausedUntil: BootInstant?
  private var lastNumber: UInt64 = 0

  init(_ listening: consuming ListeningSocket) { self.listening = listening }

  var address: SocketAddress { listening.address }

  /// When to look again though nothing comes.
  var nextMoment: BootInstant? { pausedUntil }

  /// The descriptor that the poll waits for: the listening socket, unless it rests.
  var interest: Poller.Interest? { pausedUntil == nil ? Poller.Interest(listening.raw, .readable) : nil }

  /// Takes the next connection into the lobby.
  mutating func accept() -> Arrival {
    if let end = pausedUntil, .now() < end { return .nothing }
    pausedUntil = nil
    do throws(SystemError) {
      guard let socket = try listening.accept() else { return .nothing }
      lastNumber += 1
      let (id, address) = (ConnectionID(lastNumber), socket.remoteAddress)
      lobby.add(id, socket)
      return .connection(id, address)
    } catch {
      if error.isDescriptorShortage { return .shortage }
      rest(until: BootInstant.now().advanced(by: Self.pause))
      return .nothing
    }
  }

  /// Takes nothing until a moment.
  mutating func rest(until moment: BootInstant) { pausedUntil = moment }
}
