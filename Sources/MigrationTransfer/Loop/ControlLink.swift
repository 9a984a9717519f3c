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
  /// Whether bytes can still go out.
  private var isWritable = true
  /// Whether it was said that there is room.
  private var isDrainTold = true
  /// Whether the next step has something to do, whatever the poll finds: more to take, or something that was just said.
  private(set) var mayHaveMore = false

  /// Takes over a connection that is past READY.
  init(_ connection: consuming Connection, now: Double) {
    self.connection = connection
    channel = ControlChannel(now: now)
  }

  func say(_ message: ControlMessage) {
    channel.say(message)
    isDrainTold = false
    mayHaveMore = true
  }

  func close(until deadline: Double) {
    state = .closing(until: deadline)
    mayHaveMore = true
  }

  var nextMoment: Double {
    switch state {
    case .open: channel.nextMoment
    case .broken, .closed: .infinity
    case .closing(let deadline): deadline
    }
  }

  var interest: Poller.Interest {
    switch state {
    case .open: connection.interest(isReading: channel.isReading)
    case .broken, .closed: connection.interest(isReading: false)
    // As long as something is to be sent nothing is read, and what has come must not end every wait.
    case .closing: connection.interest(isReading: connection.awaitsEnd)
    }
  }

  /// Sends and takes what can be without waiting; what that brings.
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
      let isSilent = channel.beat(now: now)
      var sending: ConnectionError?
      do throws(ConnectionError) { try send(now: now) } catch { sending = error }
      // An end that says something and closes at once refuses what is sent to it; what it said is heard all the same.
      try receive(&news, now: now)
      if let sending, news.isEmpty { throw sending }
      if isSilent {
        throw ConnectionError(.timedOut, "the other device has been silent for \(Int(Heartbeat.silence)) seconds")
      }
      if !isDrainTold, channel.isDrained {
        isDrainTold = true
        news.append(.drained)
      }
    } catch {
      state = .broken
      news.append(.broke(Fault(error)))
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
      isWritable = false
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
        guard channel.unsent == 0, try connection.stepClosing() else { return [] }
      }
    } catch {
      // It is closed one way or another.
    }
    state = .closed
    return [.closed]
  }
}
