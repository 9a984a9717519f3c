import MigrationEngine
import MigrationSystem
import MigrationWire

@testable import MigrationTransfer

/// A control connection of a thread that waits for it.
struct BlockingLink: ~Copyable {
  private static let readsAtATime = 16

  private let pace: LoopClock
  private var connection: Connection
  private var channel: ControlChannel
  /// Whether the last look ended before everything was read: then nothing need be waited for.
  private var mayHaveMore = false

  /// Takes over a connection that is past READY.
  init(_ connection: consuming Connection, pace: LoopClock = LoopClock()) {
    self.connection = connection
    self.pace = pace
    channel = ControlChannel(now: pace.now)
  }

  var remoteAddress: SocketAddress { connection.remoteAddress }

  /// Queues a message; it goes out with the next `exchange`.
  mutating func say(_ message: ControlMessage) { channel.say(message) }

  /// Queues a whole frame as it is.
  mutating func sayRaw(_ frame: [UInt8]) { channel.sayRaw(frame) }

  /// Sends the queued messages, and waits for messages until the deadline or the wakeup. Returns
  /// the received ones, in order.
  ///
  /// Throws a `ConnectionError` or a `Violation`.
  mutating func exchange(until deadline: BootInstant?) throws -> [ControlMessage] {
    channel.beat(now: pace.now)
    var messages = try sendAndReceive()
    if messages.isEmpty, !mayHaveMore {
      let beat = pace.instant(channel.nextMoment)
      _ = try connection.wait(until: deadline.map { min($0, beat) } ?? beat, isReading: channel.isReading)
      messages = try sendAndReceive()
      channel.beat(now: pace.now)
    }
    if channel.isSilent(now: pace.now) {
      throw ConnectionError(.timedOut, "the other device has been silent for \(Int(Heartbeat.silence)) seconds")
    }
    return messages
  }

  /// Sends everything queued, then closes.
  mutating func close(within pause: Duration = .seconds(2)) {
    let deadline = BootInstant.now().advanced(by: pause)
    do {
      try connection.writeAll(Array(channel.outgoing[channel.sent...]), until: deadline)
    } catch {
      return
    }
    connection.close(by: deadline)
  }

  /// Sends what there is room for, and takes the messages that have come.
  ///
  /// An end that says something and closes at once refuses later bytes. Its last message is heard
  /// all the same.
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
    if channel.unsent > 0 {
      let taken = try connection.write(channel.outgoing, channel.sent..<channel.outgoing.count)
      channel.sent(taken, now: pace.now)
    }
    try connection.flush()
  }

  /// Takes messages until there are some, or no bytes have come. The next call returns the error
  /// that ended the connection behind them.
  private mutating func receive() throws -> [ControlMessage] {
    var messages: [ControlMessage] = []
    var reads = 0
    mayHaveMore = false
    while channel.isReading {
      while let message = try channel.next() { messages.append(message) }
      guard messages.isEmpty else { break }
      reads += 1
      mayHaveMore = reads > Self.readsAtATime
      guard try !mayHaveMore && fill() else { break }
    }
    return messages
  }

  /// Takes the received bytes; false when there are none.
  private mutating func fill() throws -> Bool {
    let count = try channel.read(atMost: 64 << 10, now: pace.now) { (bytes, range) throws(ConnectionError) in
      try connection.read(into: &bytes, range)
    }
    guard let count else { return false }
    guard count > 0 else { throw ConnectionError(.closed, "the other device closed the connection") }
    return true
  }
}
