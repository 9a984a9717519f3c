import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One control connection of a loop: its bytes, and the progress of its end.
final class ControlLink {
  enum Event: Sendable {
    /// `isUnheard`: the message is the last, and the other end's kernel lacks bytes of this end.
    case received(ControlMessage, isUnheard: Bool)
    /// Only `closed` follows. `isSilent`: nothing has come for too long, or the kernel got no
    /// answer.
    case broke(Failure, isSilent: Bool)
    /// There is room for more of the messages that can wait.
    case drained
    case closed
  }

  private enum State {
    case open
    /// It broke, and the engine has not yet closed it.
    case broken
    case closing(until: Double)
    case closed
  }

  /// The most reads of one step: an other end that sends without end leaves time for other work.
  private static let readsAtATime = 16
  private static let readSize = 64 << 10

  private var connection: Connection
  private var channel: ControlChannel
  private var state = State.open
  /// The reason why no more bytes can be sent.
  private var sendingFailure: ConnectionError?
  /// Whether the link has reported that it is drained.
  private var isDrainTold = true
  /// Whether the next step has work with any result of the poll: more bytes to read, or a message
  /// that was just queued.
  private(set) var mayHaveMore = false

  /// Takes over a connection that is past READY.
  init(_ connection: consuming Connection, now: Double) {
    self.connection = connection
    channel = ControlChannel(now: now)
    // Bytes in the kernel precede every answer. Without this limit of the kernel, answers are later.
    try? self.connection.keepUnsentLow()
  }

  func say(_ message: ControlMessage) {
    channel.say(message)
    isDrainTold = false
    mayHaveMore = true
  }

  func close(until deadline: Double) {
    switch state {
    case .open, .broken: state = .closing(until: deadline)
    case .closing(let earlier): state = .closing(until: min(earlier, deadline))
    case .closed: return
    }
    mayHaveMore = true
  }

  /// The next moment at which something is due without an event.
  var nextMoment: Double? {
    switch state {
    case .open: channel.nextMoment
    case .broken, .closed: nil
    case .closing(let deadline): deadline
    }
  }

  /// The events to wait for; nil for none, since a poll that sees a dead socket ends at once.
  var interest: Poller.Interest? {
    switch state {
    case .open: connection.interest(isReading: channel.isReading)
    case .broken: hasMoreToSend ? connection.interest(isReading: false) : nil
    // The link reads only when it has nothing to send. Received bytes must not end every wait
    // meanwhile.
    case .closing: connection.interest(isReading: connection.awaitsEnd)
    case .closed: nil
    }
  }

  private var isWritable: Bool { sendingFailure == nil }
  private var hasMoreToSend: Bool { isWritable && (channel.unsent > 0 || connection.hasPendingOutput) }

  /// Sends and reads bytes without waiting. Returns the resulting events.
  func step(now: Double) -> [Event] {
    mayHaveMore = false
    switch state {
    case .open: return converse(now: now)
    case .broken:
      // Sends the last messages until the engine closes the connection.
      try? send(now: now)
      return []
    case .closing(let deadline): return end(now: now, deadline)
    case .closed: return []
    }
  }

  private func converse(now: Double) -> [Event] {
    var events: [Event] = []
    do throws(ConnectionError) {
      channel.beat(now: now)
      try? send(now: now)
      // An end that sends a message and closes at once refuses later bytes. Its last message is read
      // all the same.
      try receive(&events, now: now)
      if let sendingFailure, events.isEmpty { throw sendingFailure }
      if channel.isSilent(now: now) {
        throw ConnectionError(.timedOut, "the other device has been silent for \(Int(Heartbeat.silence)) seconds")
      }
      if !isDrainTold, channel.isDrained {
        isDrainTold = true
        events.append(.drained)
      }
    } catch {
      state = .broken
      events.append(.broke(error.failure, isSilent: error.code == .timedOut))
    }
    return events
  }

  private func send(now: Double) throws(ConnectionError) {
    guard isWritable else { return }
    do throws(ConnectionError) {
      if channel.unsent > 0 {
        let taken = try connection.write(channel.outgoing, channel.sent..<channel.outgoing.count)
        channel.sent(taken, now: now)
      }
      try connection.flush()
    } catch {
      sendingFailure = error
      throw error
    }
  }

  private func receive(_ events: inout [Event], now: Double) throws(ConnectionError) {
    var reads = 0
    while channel.isReading {
      while let message = try nextMessage() { events.append(.received(message, isUnheard: isUnheard(message))) }
      guard events.isEmpty else {
        mayHaveMore = true
        return
      }
      guard reads < Self.readsAtATime else {
        mayHaveMore = true
        return
      }
      reads += 1
      let count = try channel.read(atMost: Self.readSize, now: now) { (bytes, range) throws(ConnectionError) in
        try connection.read(into: &bytes, range)
      }
      guard let count else { return }
      guard count > 0 else { throw ConnectionError(.closed, "the other device closed the connection") }
    }
  }

  private func isUnheard(_ message: ControlMessage) -> Bool {
    if case .close = message { connection.waitingBytes > 0 } else { false }
  }

  private func nextMessage() throws(ConnectionError) -> ControlMessage? {
    try Violation.mapped(channel.next()) { ConnectionError($0) }
  }

  private func end(now: Double, _ deadline: Double) -> [Event] {
    do throws(ConnectionError) {
      try send(now: now)
      if isWritable, now < deadline {
        guard channel.unsent == 0 else { return [] }
        switch try connection.stepClosing() {
        case .done: break
        case .waits: return []
        case .hasMore:
          mayHaveMore = true
          return []
        }
      }
    } catch {
      // It is closed one way or another.
    }
    state = .closed
    return [.closed]
  }
}

/// The control connections that a loop reads and writes, from READY to their end. The loop's thread
/// owns it; nothing here waits.
struct ControlConnections {
  private var links: [ConnectionID: ControlLink] = [:]
  private let clock: LoopClock

  init(_ clock: LoopClock) { self.clock = clock }

  /// Adds a connection at READY.
  mutating func add(_ id: ConnectionID, _ connection: consuming Connection) {
    links[id] = ControlLink(connection, now: clock.now)
  }

  /// Queues a message.
  func say(_ id: ConnectionID, _ message: ControlMessage) { links[id]?.say(message) }

  /// Ends a connection with the queued last messages, at the given moment of the clock at the
  /// latest. While it is being closed, a moment counts only if it is earlier.
  func close(_ id: ConnectionID, until deadline: Double) { links[id]?.close(until: deadline) }

  /// The next moment at which something is due without an event.
  var nextMoment: Double? { links.values.compactMap(\.nextMoment).min() }

  /// The events that the poll waits for, in the order of the connections.
  var interests: [Poller.Interest] { links.sorted { $0.key < $1.key }.compactMap(\.value.interest) }

  /// Whether a connection has more bytes than the last step read, or a message was queued since.
  var mayHaveMore: Bool { links.values.contains(where: \.mayHaveMore) }

  /// Sends and reads bytes of all connections without waiting.
  mutating func step() -> [(id: ConnectionID, event: ControlLink.Event)] {
    let now = clock.now
    var all: [(id: ConnectionID, event: ControlLink.Event)] = []
    for (id, link) in links.sorted(by: { $0.key < $1.key }) {
      for event in link.step(now: now) {
        all.append((id, event))
        if case .closed = event { links[id] = nil }
      }
    }
    return all
  }
}
