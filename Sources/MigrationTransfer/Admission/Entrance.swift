import MigrationEngine
import MigrationSystem

/// The listening thread's work: takes connections as fast as they come, and lets in those that `Admission` chooses.
struct Entrance: ~Copyable {
  typealias Ticket = Admission.Ticket

  /// How many connections are taken before those in the lobby are looked at.
  private static let batch = 64
  /// How long nothing is taken when there are no descriptors, and none to be had by turning somebody away.
  private static let pause = Duration.milliseconds(100)

  private let listening: ListeningSocket
  private let keeper: Doorkeeper
  private var lobby = Lobby()
  private var poller: Poller
  /// Those in the lobby that the last wait found ready.
  private var ready: [Ticket] = []
  /// Whether the last batch took all that had come.
  private var isDrained = true
  private var pausedUntil: BootInstant?

  init(_ listening: consuming ListeningSocket, _ keeper: Doorkeeper) throws(SystemError) {
    poller = try Poller()
    self.listening = listening
    self.keeper = keeper
  }

  /// Takes what has come, and lets in who may come in; when to look again though nothing happens.
  mutating func work(
    isEngaged: Bool, origin: (SocketAddress) -> Admission.Origin, serve: (Guest, Parcel) throws -> Void
  ) -> BootInstant? {
    for ticket in ready { note(lobby.look(at: ticket), ticket) }
    ready = []
    accept(origin)
    for ticket in keeper.expire() { _ = lobby.remove(ticket) }
    while let ticket = keeper.letIn(isEngaged: isEngaged) {
      guard let parcel = lobby.remove(ticket) else { continue }
      do {
        try serve(try Guest(ticket), parcel)
      } catch {
        keeper.leave(ticket)
      }
    }
    if !isDrained { return .now() }
    return [pausedUntil, keeper.nextMoment(isEngaged: isEngaged)].compactMap { $0 }.min()
  }

  /// Waits for connections, for what they say, for attention or for the deadline.
  mutating func wait(for attention: Wakeup, until deadline: BootInstant?) throws(SystemError) {
    var interests = [Poller.Interest(attention.raw, .readable)]
    if pausedUntil == nil { interests.append(Poller.Interest(listening.raw, .readable)) }
    let first = interests.count
    let incomplete = lobby.incomplete
    for visitor in incomplete { interests.append(Poller.Interest(visitor.raw, .readable)) }
    _ = try poller.wait(&interests, until: deadline)
    ready = incomplete.indices.filter { !interests[first + $0].ready.isEmpty }.map { incomplete[$0].ticket }
  }

  private mutating func accept(_ origin: (SocketAddress) -> Admission.Origin) {
    if let end = pausedUntil, .now() < end { return }
    pausedUntil = nil
    isDrained = false
    for _ in 0..<Self.batch {
      do throws(SystemError) {
        guard let socket = try listening.accept() else {
          isDrained = true
          return
        }
        let (ticket, turnedAway) = keeper.arrive(origin(socket.remoteAddress))
        note(lobby.add(ticket, Parcel(socket)), ticket)
        if let turnedAway { _ = lobby.remove(turnedAway) }
      } catch {
        // It stays in the queue; somebody else in the lobby makes room for it.
        if error.isDescriptorShortage, let ticket = keeper.dismissOne() {
          _ = lobby.remove(ticket)
          continue
        }
        isDrained = true
        pausedUntil = BootInstant.now().advanced(by: Self.pause)
        return
      }
    }
  }

  private mutating func note(_ look: Lobby.Look, _ ticket: Ticket) {
    switch look {
    case .incomplete: break
    case .complete: keeper.heard(ticket)
    case .worthless:
      _ = lobby.remove(ticket)
      keeper.leave(ticket)
    }
  }
}
