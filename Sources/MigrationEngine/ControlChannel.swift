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

/// Makes all decisions of one end of a transfer.
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock. Times are
/// seconds on the clock of the loop that drives it.
package protocol Engine: Sendable {
  associatedtype Event: EngineEvent
  associatedtype Action: Sendable

  /// Handles an event and returns the actions, in their order.
  mutating func handle(_ event: Event, now: Double) -> [Action]
  /// The next moment at which something may change without an event.
  var nextMoment: Double? { get }
  /// How many workers were started and have not sent their event.
  var runningWorkers: Int { get }
  /// The invariant that does not hold; nil when all hold.
  func checkInvariants() -> String?
}

/// The events that a loop gives to both engines.
package protocol EngineEvent: Sendable {
  /// The first event.
  static var begin: Self { get }
  /// The user stops the run with a signal.
  static func stop(_ kind: Failure.Kind) -> Self
  /// A moment has come: one that `nextMoment` named, or any other.
  static var timePassed: Self { get }
  /// A message has arrived on a control connection.
  static func received(_ connection: ConnectionID, _ message: ControlMessage) -> Self
  /// A control connection was cut or is silent, or its other end has violated the protocol. Only
  /// `closed` follows for it.
  static func broke(_ connection: ConnectionID, _ fault: Failure) -> Self
  /// Almost everything queued on a control connection is sent.
  static func drained(_ connection: ConnectionID) -> Self
  /// A control connection is closed, as `close` asked. `spread`, from 0 to 1, is random.
  static func closed(_ connection: ConnectionID, spread: Double) -> Self
}
