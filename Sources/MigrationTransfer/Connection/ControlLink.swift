import MigrationSystem
import MigrationWire

/// The control connection: messages both ways, heartbeats, and silence noticed. One thread owns it.
struct ControlLink: ~Copyable {
  /// With so much unsent, nothing more is read: whoever does not hear the answers gets no more of them.
  private static let backlog = 256 << 10
  private static let readsAtATime = 16

  private let pace: Pace
  private var connection: Connection
  private var heartbeat: Heartbeat
  private var outgoing: [UInt8] = []
  /// How many bytes of `outgoing` are gone already.
  private var sent = 0
  private var incoming: [UInt8] = []
  /// Whether the last look ended before everything was read: then nothing need be waited for.
  private var mayHaveMore = false
  /// What has come is read into this first.
  private var scratch = [UInt8](repeating: 0, count: 64 << 10)

  /// Takes over a connection that is past READY.
  init(_ connection: consuming Connection, pace: Pace = Pace()) {
    self.connection = connection
    self.pace = pace
    heartbeat = Heartbeat(now: pace.now)
  }

  var remoteAddress: SocketAddress { connection.remoteAddress }

  private var isReading: Bool { outgoing.count - sent < Self.backlog }

  /// Queues a message; it goes out with the next `exchange`.
  mutating func say(_ message: ControlMessage) {
    sayRaw(message.frame)
  }

  /// Queues a whole frame as it is.
  mutating func sayRaw(_ frame: [UInt8]) {
    outgoing += frame
  }

  /// Sends what is queued, and waits for messages until the deadline or the wakeup; those that came, in order.
  ///
  /// There may be more than it gives at a time, so that a talkative other end leaves time for everything else.
  /// Throws a `ConnectionError` or a `Violation`.
  mutating func exchange(until deadline: BootInstant?) throws -> [ControlMessage] {
    if let ping = heartbeat.due(now: pace.now) { say(ping) }
    var messages = try sendAndReceive()
    if messages.isEmpty, !mayHaveMore {
      let beat = pace.instant(heartbeat.next)
      _ = try connection.wait(until: deadline.map { min($0, beat) } ?? beat, isReading: isReading)
      messages = try sendAndReceive()
    }
    if heartbeat.isSilent(now: pace.now) {
      throw ConnectionError(.timedOut, "the other device has been silent for \(Int(Heartbeat.silence)) seconds")
    }
    return messages
  }

  /// Sends everything queued, then closes.
  mutating func close(within pause: Duration = .seconds(2)) {
    let deadline = BootInstant.now().advanced(by: pause)
    do {
      try connection.writeAll(Array(outgoing[sent...]), until: deadline)
    } catch {
      return
    }
    connection.close(by: deadline)
  }

  /// Sends what there is room for, and takes the messages that have come.
  ///
  /// An end that says something and closes at once refuses what is sent to it; what it said is heard all the same.
  private mutating func sendAndReceive() throws -> [ControlMessage] {
    do throws(ConnectionError) {
      try send()
    } catch {
      let messages = try receive()
      guard messages.isEmpty else { return messages }
      throw error
    }
    return try receive()
  }

  private mutating func send() throws(ConnectionError) {
    if !outgoing.isEmpty {
      let taken = try connection.write(outgoing, sent..<outgoing.count)
      sent += taken
      if sent == outgoing.count {
        outgoing.removeAll(keepingCapacity: true)
        sent = 0
      }
      if taken > 0 { heartbeat.sent(now: pace.now) }
    }
    try connection.flush()
  }

  /// Takes messages until there are some, or nothing has come. What ended the connection behind them is the next call's.
  private mutating func receive() throws -> [ControlMessage] {
    var messages: [ControlMessage] = []
    // Frames that are to be skipped may follow each other without end; the owner has other things to look at.
    var reads = 0
    mayHaveMore = false
    while messages.isEmpty, isReading {
      reads += 1
      mayHaveMore = reads > Self.readsAtATime
      guard try !mayHaveMore && fill() else { break }
      var start = 0
      while let message = try nextMessage(&start) {
        if let message { messages.append(message) }
      }
      incoming.removeFirst(start)
    }
    return messages
  }

  /// Appends what has come; false when nothing has.
  private mutating func fill() throws -> Bool {
    guard let count = try connection.read(into: &scratch, 0..<scratch.count) else { return false }
    incoming += scratch[..<count]
    guard count > 0 else { throw ConnectionError(.closed, "the other device closed the connection") }
    heartbeat.heard(now: pace.now)
    return true
  }

  /// Reads the frame at `start`, and moves behind it: nil when it is not whole yet, `.some(nil)` when it is to be ignored.
  private func nextMessage(_ start: inout Int) throws(Violation) -> ControlMessage?? {
    let body = start + Limits.frameHeader
    guard incoming.count >= body else { return nil }
    let header = try FrameHeader(incoming.span.extracting(start..<body))
    let end = body + header.length
    guard incoming.count >= end else { return nil }
    let message = try ControlMessage(header.type, incoming.span, body..<end)
    start = end
    return .some(message)
  }
}
