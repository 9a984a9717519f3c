package import MigrationWire

/// The control connection's two directions as bytes (Protocol §7.4): messages, heartbeats, and the
/// detection of silence.
///
/// A value: bytes and moments in, messages and bytes out. Times are seconds on a clock that counts
/// sleep.
package struct ControlChannel: Sendable {
  /// The number of unsent bytes at which reading stops: an other end that does not read the answers
  /// gets no more of them.
  private static let backlog = 256 << 10
  /// The number of unsent bytes below which less urgent messages may be queued.
  private static let lowWater = 64 << 10

  private var decoder = FrameDecoder()
  private var heartbeat: Heartbeat
  /// The bytes to send, from `sent` on.
  package private(set) var outgoing: [UInt8] = []
  package private(set) var sent = 0

  /// Begins with a connection that is past READY.
  package init(now: Double) { heartbeat = Heartbeat(now: now) }

  /// How many bytes are still to be sent.
  package var unsent: Int { outgoing.count - sent }
  /// Whether to read from the other end.
  package var isReading: Bool { unsent < Self.backlog }
  package var isDrained: Bool { unsent <= Self.lowWater }

  /// The next moment at which `beat` has something to do.
  package var nextMoment: Double { heartbeat.next }

  /// Queues a message.
  package mutating func say(_ message: ControlMessage) { sayRaw(message.frame) }

  /// Queues a whole frame as it is.
  package mutating func sayRaw(_ frame: [UInt8]) { outgoing += frame }

  /// The connection has sent `count` of the outgoing bytes.
  package mutating func sent(_ count: Int, now: Double) {
    guard count > 0 else { return }
    sent += count
    heartbeat.sent(now: now)
    if sent == outgoing.count {
      outgoing.removeAll(keepingCapacity: true)
      sent = 0
    } else if sent > Self.backlog {
      outgoing.removeFirst(sent)
      sent = 0
    }
  }

  /// Reads bytes directly into the buffer. `read` returns how many bytes came, or nil for none.
  package mutating func read<Failure: Error>(
    atMost count: Int, now: Double, _ read: (inout [UInt8], Range<Int>) throws(Failure) -> Int?
  ) throws(Failure) -> Int? {
    let got = try decoder.read(atMost: count, read)
    if let got, got > 0 { heartbeat.heard(now: now) }
    return got
  }

  /// Bytes have arrived.
  package mutating func received(_ bytes: Span<UInt8>, now: Double) {
    decoder.append(bytes)
    heartbeat.heard(now: now)
  }

  /// Returns the next complete message. It skips frames of later versions that may be ignored.
  package mutating func next() throws(Violation) -> ControlMessage? {
    while let frame = try decoder.next() {
      if let message = try ControlMessage(frame.type, decoder.bytes.span, frame.body) { return message }
    }
    return nil
  }

  /// Queues a PING if one is due.
  package mutating func beat(now: Double) {
    if let ping = heartbeat.due(now: now) { say(ping) }
  }

  /// Whether the other end has been silent for too long. The caller asks after it has read
  /// everything that has arrived.
  package func isSilent(now: Double) -> Bool { heartbeat.isSilent(now: now) }
}
