/// The sender's end of one data stream (Protocol §7.3): the frames under way, and the frames that
/// the receiver has acknowledged.
package struct OutgoingStream: Equatable, Sendable {
  private var next: UInt64 = 0
  private var acknowledged = Acknowledgement()
  private var isEnded = false

  package init() {}

  /// Returns the sequence number of the next DATA frame.
  package mutating func assign() -> UInt64 {
    precondition(!isEnded, "nothing follows END")
    defer { next += 1 }
    return next
  }

  /// Notes that END is sent.
  package mutating func end() { isEnded = true }

  /// The number of frames that are sent and not yet written.
  package var underWay: UInt64 { next - acknowledged.written }
  package var durable: UInt64 { acknowledged.durable }

  /// Checks an acknowledgement. Returns the number of frames that it newly reports as written.
  package mutating func received(_ ack: Acknowledgement) throws(Violation) -> UInt64 {
    guard ack.durable <= ack.written, ack.written <= next, ack.written >= acknowledged.written,
      ack.durable >= acknowledged.durable
    else {
      throw Violation(.conflict, "an acknowledgement")
    }
    defer { acknowledged = ack }
    return ack.written - acknowledged.written
  }
}

/// The receiver's end of one data stream (Protocol §7.3).
package struct IncomingStream: Equatable, Sendable {
  private enum State: Equatable {
    /// Leads to open.
    case joining
    /// Leads to ended.
    case open
    case ended
  }

  private var state = State.joining
  private var written: UInt64 = 0
  private var durable: UInt64 = 0
  private var told = Acknowledgement()

  package init() {}

  /// Takes JOIN. Valid in joining; leads to open.
  package mutating func joined() throws(Violation) {
    guard state == .joining else { throw Violation(.state, "a second JOIN") }
    state = .open
  }

  /// Checks a DATA frame. Valid in open; the frames come in order, so its number is known.
  package func received(_ header: DataHeader) throws(Violation) {
    guard state == .open else { throw Violation(.state, "a data frame") }
    guard header.sequence == written else { throw Violation(.conflict, "a data frame's sequence") }
  }

  /// Notes that the last received frame is in the files and the journal.
  package mutating func wrote() { written += 1 }

  /// The number of written frames, which the next sync covers.
  package var writtenFrames: UInt64 { written }

  /// Whether written frames are to be acknowledged although more bytes have come, so many seconds
  /// after the last acknowledgement or wait (Protocol §6.8).
  package func owesAcknowledgement(after seconds: Double) -> Bool {
    written - told.written >= Self.framesTogether || seconds >= Self.acknowledgedWithin
  }

  private static let framesTogether: UInt64 = 4
  private static let acknowledgedWithin = 0.01

  /// Notes that the first `count` frames are synced.
  package mutating func synced(_ count: UInt64) {
    precondition(count <= written, "only written frames can be durable")
    durable = max(durable, count)
  }

  /// Takes END. Valid in open; leads to ended.
  package mutating func ended() throws(Violation) {
    guard state == .open else { throw Violation(.state, "the end of a data stream") }
    state = .ended
  }

  /// The acknowledgement to send now; nil if nothing has changed.
  package mutating func acknowledge() -> Acknowledgement? {
    let ack = Acknowledgement(written: written, durable: durable)
    guard ack != told else { return nil }
    told = ack
    return ack
  }
}
