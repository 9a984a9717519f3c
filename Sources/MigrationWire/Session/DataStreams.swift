/// The sender's end of one data stream (Protocol §7.3): the frames under way, and the frames that
/// the receiver has acknowledged.
package struct OutgoingStream: Equatable, Sendable {
  private var next: UInt64 = 0
  private var acknowledged = Acknowledgement()
  private var isEnded = false

  package init() {}

  /// A DATA frame is about to be sent; its sequence number.
  package mutating func assign() -> UInt64 {
    precondition(!isEnded, "nothing follows END")
    defer { next += 1 }
    return next
  }

  /// END is about to be sent.
  package mutating func end() { isEnded = true }

  /// How many frames are sent and not yet written.
  package var underWay: UInt64 { next - acknowledged.written }
  package var durable: UInt64 { acknowledged.durable }

  /// An acknowledgement came; how many more frames are written now.
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

  /// JOIN came. Valid in joining; leads to open.
  package mutating func joined() throws(Violation) {
    guard state == .joining else { throw Violation(.state, "a second JOIN") }
    state = .open
  }

  /// A DATA frame came. Valid in open; the frames come in order, so its number is known.
  package func received(_ header: DataHeader) throws(Violation) {
    guard state == .open else { throw Violation(.state, "a data frame") }
    guard header.sequence == written else { throw Violation(.conflict, "a data frame's sequence") }
  }

  /// The frame received last is in the files and the journal.
  package mutating func wrote() { written += 1 }

  /// How many frames are written: the snapshot that a sync vouches for.
  package var writtenFrames: UInt64 { written }

  /// The first `count` frames are synced.
  package mutating func synced(_ count: UInt64) {
    precondition(count <= written, "only written frames can be durable")
    durable = max(durable, count)
  }

  /// END came. Valid in open; leads to ended.
  package mutating func ended() throws(Violation) {
    guard state == .open else { throw Violation(.state, "the end of a data stream") }
    state = .ended
  }

  /// What to tell the sender now; nil when there is nothing new.
  package mutating func acknowledge() -> Acknowledgement? {
    let ack = Acknowledgement(written: written, durable: durable)
    guard ack != told else { return nil }
    told = ack
    return ack
  }
}
