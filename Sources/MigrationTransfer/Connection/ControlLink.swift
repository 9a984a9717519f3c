import MigrationSystem
import MigrationWire

/// The control connection: messages both ways, heartbeats, and silence noticed. One thread owns it.
struct ControlLink: ~Copyable {
  private var connection: Connection
  private var heartbeat: Heartbeat
  private var outgoing: [UInt8] = []
  private var incoming: [UInt8] = []

  /// Takes over a connection that is past READY.
  init(_ connection: consuming Connection) {
    self.connection = connection
    heartbeat = Heartbeat(now: Self.now)
  }

  var remoteAddress: SocketAddress { connection.remoteAddress }

  private static var now: Double { Double(BootInstant.now().nanoseconds) / 1e9 }

  /// Queues a message; it goes out with the next `exchange`.
  mutating func say(_ message: ControlMessage) {
    outgoing += message.frame
  }

  /// Sends what is queued, and waits for messages until the deadline or the wakeup; those that came, in order.
  ///
  /// Throws a `ConnectionError` or a `Violation`.
  mutating func exchange(until deadline: BootInstant?) throws -> [ControlMessage] {
    if let ping = heartbeat.due(now: Self.now) { say(ping) }
    try send()
    var messages = try receive()
    if messages.isEmpty {
      let beat = BootInstant(nanoseconds: Int64(heartbeat.next * 1e9))
      _ = try connection.wait(until: deadline.map { min($0, beat) } ?? beat)
      try send()
      messages = try receive()
    }
    if heartbeat.isSilent(now: Self.now) {
      throw ConnectionError(.timedOut, "the other device has been silent for \(Int(Heartbeat.silence)) seconds")
    }
    return messages
  }

  /// Sends everything queued, then closes.
  mutating func close() {
    let deadline = BootInstant.now().advanced(by: .seconds(2))
    do {
      while !outgoing.isEmpty || connection.hasPendingOutput {
        try send()
        guard !outgoing.isEmpty || connection.hasPendingOutput else { break }
        if try connection.wait(until: deadline) == .deadline { return }
      }
    } catch {
      return
    }
    connection.close()
  }

  private mutating func send() throws(ConnectionError) {
    if !outgoing.isEmpty {
      let taken = try connection.write(outgoing, 0..<outgoing.count)
      outgoing.removeFirst(taken)
      if taken > 0 { heartbeat.sent(now: Self.now) }
    }
    try connection.flush()
  }

  private mutating func receive() throws -> [ControlMessage] {
    var messages: [ControlMessage] = []
    while try fill() {
      while let message = try nextMessage() {
        if let message { messages.append(message) }
      }
    }
    return messages
  }

  /// Appends what has come; false when nothing has.
  private mutating func fill() throws -> Bool {
    let room = 64 << 10
    let filled = incoming.count
    incoming.append(contentsOf: repeatElement(0, count: room))
    let count = try connection.read(into: &incoming, filled..<incoming.count)
    incoming.removeLast(room - (count ?? 0))
    guard let count else { return false }
    guard count > 0 else { throw ConnectionError(.closed, "the other device closed the connection") }
    heartbeat.heard(now: Self.now)
    return true
  }

  /// Takes one frame from the front: nil when it is not whole yet, `.some(nil)` when it is to be ignored.
  private mutating func nextMessage() throws(Violation) -> ControlMessage?? {
    guard incoming.count >= Limits.frameHeader else { return nil }
    let header = try FrameHeader(incoming.span.extracting(first: Limits.frameHeader))
    let end = Limits.frameHeader + header.length
    guard incoming.count >= end else { return nil }
    let message = try ControlMessage(header.type, incoming.span, Limits.frameHeader..<end)
    incoming.removeFirst(end)
    return .some(message)
  }
}
