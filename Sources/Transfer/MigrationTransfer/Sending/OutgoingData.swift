import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The sender's end of one data stream: reads frames, sends them, and takes acknowledgements.
struct OutgoingData: ~Copyable {
  private var connection: Connection
  private var stream = OutgoingStream()
  private let queue: SendQueue
  private let traffic: TrafficCount
  private let number: SendQueue.StreamNumber
  private var decoder = FrameDecoder()
  /// The buffer for received bytes.
  private var scratch = [UInt8](repeating: 0, count: 4096)
  /// Headers and small frames on their way.
  private var prefix: [UInt8] = []
  private var frame: FrameBuffer?
  /// The size of the compressed frame; nil for a frame that is sent plain.
  private var packed: Int?
  private var compression: Compression
  private var sent = 0
  /// The moment at which the limit allows more, while it allows nothing.
  private var heldBackUntil: BootInstant?
  private var isEnding = false
  private var taken: UInt64 = 0
  private var watch: StallWatch

  /// The checks for movement within the time limit of the watch.
  private static let looks = 6.0
  private static let readsAtATime = 16
  /// For how many seconds a direct connection may leave bytes unanswered, while the relay is another way.
  private static let directPatience = 5.0
  private let isDirect: Bool
  private let lookEvery: Duration
  /// The moment of the next check: a fixed one, so that the poller need not set its timer for each wait.
  private var nextLook = BootInstant.now()

  /// Takes over a connection that is past READY, and joins the session.
  init(
    _ connection: consuming Connection, _ join: Join, queue: SendQueue, compression: SenderEngine.CompressionPreference,
    patience: Double, attempts: Int, isDirect: Bool = false, traffic: TrafficCount
  ) {
    self.traffic = traffic
    self.isDirect = isDirect
    self.compression = Compression(compression)
    watch = StallWatch(now: Self.now, patience: patience, attempts: attempts)
    lookEvery = .seconds(min(patience / Self.looks, isDirect ? 1 : .infinity))
    self.connection = connection
    self.queue = queue
    number = join.stream
    prefix = StreamMessage.join(join).frame()
  }

  /// Sends until the queue has nothing more.
  mutating func run() throws(ConnectionError) {
    try connection.allowStalls()
    try connection.keepUnsentLow()
    while true {
      let isFlushed = try send()
      let hasHeardAll = try hear()
      var moment: BootInstant?
      let fullUntil = frame == nil ? queue.fullUntil(number, now: Self.now) : nil
      if isFlushed, frame == nil, fullUntil == nil {
        switch next() {
        case .send(let next):
          begin(next)
          continue
        case .end where !isEnding:
          isEnding = true
          stream.end()
          prefix = StreamMessage.end.frame()
          continue
        case .end: return connection.close()
        case .wait(let until): moment = until
        }
      }
      if queue.isStopped { throw Self.stopped }
      if !hasHeardAll { continue }
      let begun = BootInstant.now()
      let moments = [
        nextLook, heldBackUntil, moment, fullUntil.map { BootInstant(seconds: $0) },
      ]
      _ = try connection.wait(until: moments.compactMap(\.self).min())
      // Without a frame to send, the wait was for none of link, other end and limit.
      if frame != nil || fullUntil != nil { compression.waited(BootInstant.now().seconds(since: begun)) }
      try look()
      if queue.isStopped { throw Self.stopped }
    }
  }

  /// The next frame, which may have to be read first. The stream reads no acknowledgements during that time.
  private mutating func next() -> SendQueue.Next {
    let begun = Self.now
    let next = queue.next(for: number)
    if Self.now - begun > lookEvery / .seconds(1) { watch.resume(now: Self.now) }
    return next
  }

  private static let stopped = ConnectionError(.stopped, "the data stream was stopped")

  /// Begins to send a frame, compressed if that is worth it.
  private mutating func begin(_ next: FrameBuffer) {
    packed = queue.isCompressible ? compression.pack(next, sent: taken, unwritten: stream.underWay) : nil
    queue.sends(packed ?? next.count, on: number, now: Self.now)
    traffic.begin()
    traffic.add(sent: Limits.dataHeader, saved: packed.map { next.count - $0 } ?? 0)
    let header = DataHeader(
      sequence: stream.assign(), encoding: packed == nil ? .plain : .zstd, plainLength: next.count)
    prefix = StreamMessage.data(header).frame(payload: packed ?? next.count)
    frame = next
    sent = 0
  }

  private static var now: Double { BootInstant.now().seconds }

  /// Ends a stream on which nothing moves any more.
  private mutating func look() throws(ConnectionError) {
    guard BootInstant.now() >= nextLook else { return }
    nextLook = BootInstant.now().advanced(by: lookEvery)
    guard !isDirect || connection.unanswered < Self.directPatience else {
      throw ConnectionError(.timedOut, "a direct connection passes nothing on any more")
    }
    let trace = StallWatch.Trace(underWay: stream.underWay, taken: taken, waiting: connection.waitingBytes)
    // A delay by the rate limit holds up this end only.
    let isHeldBack = heldBackUntil != nil && connection.waitingBytes == 0
    let isIdle = isHeldBack || prefix.isEmpty && frame == nil && stream.underWay == 0
    guard !watch.isStalled(trace, isIdle: isIdle, now: Self.now) else {
      throw ConnectionError(.timedOut, "nothing moves on a data stream any more")
    }
  }

  /// Sends the current frame. Returns whether all of it went into the session.
  private mutating func send() throws(ConnectionError) -> Bool {
    if !prefix.isEmpty {
      // The header of a frame is sent with the frame's first bytes: on its own it would wake the
      // other end for nothing.
      let count = try connection.write(prefix, 0..<prefix.count, isMore: frame != nil)
      taken += UInt64(count)
      prefix.removeFirst(count)
      guard prefix.isEmpty else { return false }
    }
    guard let frame else {
      try connection.flush()
      return true
    }
    guard try send(frame) else { return false }
    self.frame = nil
    return true
  }

  /// Sends as much of a frame as connection and limit allow. Returns whether all of it went into the
  /// session.
  private mutating func send(_ frame: FrameBuffer) throws(ConnectionError) -> Bool {
    heldBackUntil = nil
    let bytes = packed == nil ? frame.bytes : compression.bytes
    let end = packed ?? frame.count
    while sent < end {
      if sent > 0 { guard try connection.flush() else { return false } }
      let (allowed, next) = queue.allowance(end - sent)
      guard allowed > 0 else {
        heldBackUntil = next
        try connection.flush()
        return false
      }
      let count = try connection.write(bytes, sent..<sent + allowed)
      taken += UInt64(count)
      sent += count
      traffic.add(sent: count)
      guard count == allowed else {
        queue.giveBack(allowed - count)
        return false
      }
    }
    return true
  }

  /// Reads the acknowledgements that have arrived. Returns whether these were all.
  private mutating func hear() throws(ConnectionError) -> Bool {
    // A receiver that sends without end hinders the stream neither from sending nor from stopping.
    for _ in 0..<Self.readsAtATime {
      guard let count = try connection.read(into: &scratch, 0..<scratch.count) else { return true }
      guard count > 0 else { throw ConnectionError(.closed, "the other device closed a data stream") }
      let new = scratch[..<count]
      decoder.append(new.span)
      try takeFrames()
    }
    return false
  }

  private mutating func takeFrames() throws(ConnectionError) {
    while let message = try nextMessage() {
      switch message {
      case .ack(let ack):
        let count = try Violation.mapped(stream.received(ack)) { ConnectionError($0) }
        queue.written(count, on: number)
      case .close(let close): throw ConnectionError(told: close)
      case .join, .data, .end: throw ConnectionError(Violation(.state, "a frame of a data stream"))
      }
    }
  }

  /// The next message that has arrived. Frames of later versions that may be ignored are skipped.
  private mutating func nextMessage() throws(ConnectionError) -> StreamMessage? {
    do throws(Violation) {
      while let frame = try decoder.next() {
        if let message = try StreamMessage(frame.type, decoder.bytes.span, frame.body) { return message }
      }
      return nil
    } catch {
      throw ConnectionError(error)
    }
  }
}
