import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One control connection of a loop: its bytes, and how far its end is.
final class ControlLink {
  private enum State {
    case open
    /// It broke, and the engine has not closed it yet.
    case broken
    case closing(until: Double)
    case closed
  }

  /// So many reads a step: an other end that never stops talking leaves time for everything else.
  private static let readsAtATime = 16
  private static let readSize = 64 << 10

  private var connection: Connection
  private var channel: ControlChannel
  private var state = State.open
  /// Why no more bytes can go out.
  private var sendingFailure: ConnectionError?
  /// Whether the link has reported its room.
  private var isDrainTold = true
  /// Whether the next step has work, with any result of the poll: more bytes to take, or a message
  /// that was just said.
  private(set) var mayHaveMore = false

  /// Takes over a connection that is past READY.
  init(_ connection: consuming Connection, now: Double) {
    self.connection = connection
    channel = ControlChannel(now: now)
    // Bytes in the kernel precede every answer. Where the kernel sets no limit, answers are only
    // later.
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

  /// When something is due though nothing comes.
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

  /// Sends and takes bytes as far as that needs no wait. Returns the resulting events.
  func step(now: Double) -> [LinkNews] {
    mayHaveMore = false
    switch state {
    case .open: return converse(now: now)
    case .broken:
      // Last words go out while the engine makes up its mind.
      try? send(now: now)
      return []
    case .closing(let deadline): return end(now: now, deadline)
    case .closed: return []
    }
  }

  private func converse(now: Double) -> [LinkNews] {
    var news: [LinkNews] = []
    do {
      channel.beat(now: now)
      try? send(now: now)
      // An end that says something and closes at once refuses later bytes. Its last message is
      // heard all the same.
      try receive(&news, now: now)
      if let sendingFailure, news.isEmpty { throw sendingFailure }
      if channel.isSilent(now: now) {
        throw ConnectionError(.timedOut, "the other device has been silent for \(Int(Heartbeat.silence)) seconds")
      }
      if !isDrainTold, channel.isDrained {
        isDrainTold = true
        news.append(.drained)
      }
    } catch {
      state = .broken
      news.append(.broke(Fault(error), isSilent: (error as? ConnectionError)?.code == .timedOut))
    }
    return news
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

  private func receive(_ news: inout [LinkNews], now: Double) throws {
    var reads = 0
    while channel.isReading {
      while let message = try channel.next() { news.append(.received(message)) }
      guard news.isEmpty else {
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

  private func end(now: Double, _ deadline: Double) -> [LinkNews] {
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
