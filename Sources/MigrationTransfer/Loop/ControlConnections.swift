import MigrationEngine
import MigrationSystem
import MigrationWire

/// An event of a control connection.
enum LinkNews: Sendable {
  case received(ControlMessage)
  /// Only `closed` follows. `isSilent`: nothing has come for too long, or the kernel got no answer.
  case broke(Fault, isSilent: Bool)
  /// There is room for more of the messages that can wait.
  case drained
  case closed
}

/// The control connections that a loop reads and writes, from READY to their end. The loop's thread
/// owns it; nothing here waits.
struct ControlConnections {
  typealias News = (id: ConnectionID, news: LinkNews)

  private var links: [ConnectionID: ControlLink] = [:]
  private let clock: LoopClock

  init(_ clock: LoopClock) { self.clock = clock }

  /// Takes over a connection at READY.
  mutating func add(_ id: ConnectionID, _ connection: consuming Connection) {
    links[id] = ControlLink(connection, now: clock.now)
  }

  /// Queues a message.
  func say(_ id: ConnectionID, _ message: ControlMessage) { links[id]?.say(message) }

  /// Ends a connection with the queued last messages, at the given moment of the clock at the
  /// latest. While it is being closed, a moment counts only if it is earlier.
  func close(_ id: ConnectionID, until deadline: Double) { links[id]?.close(until: deadline) }

  /// When something is due though nothing comes.
  var nextMoment: Double? { links.values.compactMap(\.nextMoment).min() }

  /// The events that the poll waits for, in the order of the connections.
  var interests: [Poller.Interest] { links.sorted { $0.key < $1.key }.compactMap(\.value.interest) }

  /// Whether a connection has more to give than the last step took, or something was said since.
  var mayHaveMore: Bool { links.values.contains(where: \.mayHaveMore) }

  /// Sends and takes bytes as far as that needs no wait.
  mutating func step() -> [News] {
    let now = clock.now
    var all: [News] = []
    for (id, link) in links.sorted(by: { $0.key < $1.key }) {
      for news in link.step(now: now) {
        all.append((id, news))
        if case .closed = news { links[id] = nil }
      }
    }
    return all
  }
}
