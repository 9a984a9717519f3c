import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The frames within the window and their source, which the data streams of a session share.
///
/// Every wait ends when the queue is stopped.
final class SendQueue: ExportListener {
  typealias StreamNumber = UnwrittenFrames.StreamNumber

  /// The next step of a data stream.
  enum Next {
    case send(FrameBuffer)
    /// Nothing to send now; the stream is woken when that changes, and looks at this moment.
    case wait(until: BootInstant?)
    /// Nothing more will come, and everything of this stream is written.
    case end
  }

  private struct State: Sendable {
    var window: UnwrittenFrames
    var source: (any FrameSource)?
    /// The number of additions to the source.
    var additions = 0
    var wakeups: [StreamNumber: Wakeup] = [:]
    var paces: [StreamNumber: StreamPace] = [:]
    var limit: RateLimit?
    /// Whether the limit has delayed a stream since the last read of the counters.
    var isLimiting = false
    /// The time of the receiver's last written frame.
    var lastWritten: Double?
    /// The items of the running part that the destination cannot hold.
    var refused: Set<Mark> = []
    /// Whether the running part may be compressed.
    var isCompressible = true
    /// Set when the running part has failed, or the session has ended.
    var partStop = StopSignal()

    /// Whether a stream leaves the next frame to others.
    func isLate(_ number: StreamNumber, frame: Int, now: Double) -> Bool {
      guard let unsent = window.unsentBytes, unsent > 0, window.canPass(number), let own = paces[number] else {
        return false
      }
      return own.isLate(
        behind: paces.filter { $0.key != number && window.canPass($0.key) }.map(\.value), unsent: unsent, frame: frame,
        now: now)
    }
  }

  /// Set at the end of the session; ends every wait.
  private let sessionStop = StopSignal()
  private let state: Condition<State>
  private let unsentItem: @Sendable (NotStored) -> Void
  /// The length of a full frame.
  private let capacity: Int

  /// `window` is the number of bytes that the receiver allows to be under way, `limit` the most bytes
  /// per second.
  init(
    window: UInt64, capacity: Int = ArchiveSizes().frameCapacity, limit: UInt64? = nil,
    unsent: @escaping @Sendable (NotStored) -> Void
  ) {
    let limit = limit.map { RateLimit(bytesPerSecond: $0, now: BootInstant.now().seconds) }
    state = Condition(State(window: UnwrittenFrames(window, of: capacity), limit: limit))
    unsentItem = unsent
    self.capacity = capacity
  }

  private static let stopped = Failure(.stopped, "the transfer has ended")

  // MARK: The export's side

  var stopSignal: StopSignal { state.withLock { $0.partStop } }

  /// The export of another part begins, which has this many bytes; nil where that is an
  /// estimate.
  func beginPart(of bytes: UInt64?, isCompressible: Bool) {
    state.withLock { state in
      state.window.beginPart(of: bytes)
      state.isCompressible = isCompressible
      state.refused = []
      state.partStop = StopSignal()
    }
    if sessionStop.isSet { stopSignal.set() }
  }

  /// The part has failed at the receiver: its export ends, and only what is under way is still sent.
  func abandonPart() {
    let (stop, source) = state.withLock { state in
      state.window.abandon()
      return (state.partStop, state.source)
    }
    stop.set()
    state.broadcast()
    source?.stop()
  }

  /// From now on, frames are read from a source.
  func serve(_ source: any FrameSource) {
    state.withLock { $0.source = source }
    workAdded()
    if stopSignal.isSet { source.stop() }
  }

  /// The export has ended, and its source is released: it refers to this queue.
  func serveNothing() {
    // Outside the lock: its descriptors may be on a disk that stands still.
    _ = state.withLock { $0.source.take() }
  }

  func workAdded() {
    signal { state in
      state.additions += 1
      return state.window.wakeAll()
    }
  }

  /// Waits until the receiver has written everything that was read.
  func drain() throws(Failure) {
    let isDrained = state.wait { (state) -> Bool? in
      if sessionStop.isSet { return false }
      return state.window.isDrained ? true : nil
    }
    guard isDrained == true else { throw Self.stopped }
  }

  func unsent(_ unsent: NotStored) { unsentItem(unsent) }

  func skipped(items: UInt64, bytes: UInt64) {
    state.withLock { $0.window.skip(items: items, bytes: bytes) }
  }

  func refuses(_ mark: Mark) -> Bool { state.withLock { !$0.refused.isEmpty && $0.refused.contains(mark) } }

  /// The receiver says that the destination cannot hold an item.
  func refuse(_ mark: Mark) { state.withLock { _ = $0.refused.insert(mark) } }

  /// Wakes the streams that `body` returns.
  private func signal(_ body: (inout State) -> [StreamNumber]) {
    let wakeups = state.withLock { state in body(&state).compactMap { state.wakeups[$0] } }
    for wakeup in wakeups { wakeup.signal() }
  }

  /// Nothing more will be read, and everything is written: the streams end.
  func finish() {
    let wakeups = state.withLock { state in
      state.window.finish()
      return Array(state.wakeups.values)
    }
    for wakeup in wakeups { wakeup.signal() }
  }

  /// Ends the session's export and streams.
  func stop() {
    sessionStop.set()
    stopSignal.set()
    // A wait that checked the signal before is waiting by now, and gets the broadcast.
    let (wakeups, source) = state.withLock { (Array($0.wakeups.values), $0.source) }
    state.broadcast()
    source?.stop()
    for wakeup in wakeups { wakeup.signal() }
  }

  // MARK: The streams' side

  var isCompressible: Bool { state.withLock { $0.isCompressible } }

  /// A stream begins. Its wakeup is signalled whenever its next step may have changed.
  func register(_ number: StreamNumber, _ wakeup: Wakeup) {
    state.withLock { $0.wakeups[number] = wakeup }
  }

  /// When a stream may take its next frame; nil if it may now.
  ///
  /// A slow stream leaves the last frames to others that bring all of them before it brings the next:
  /// else everything would wait for it in the end.
  func fullUntil(_ number: StreamNumber, now: Double) -> Double? {
    let (full, other) = state.withLock { state -> (Double?, Wakeup?) in
      if let full = state.paces[number]?.next(now: now) { return (full, nil) }
      guard state.isLate(number, frame: capacity, now: now) else { return (nil, nil) }
      return (now + StreamPace.look, state.window.pass(number).flatMap { state.wakeups[$0] })
    }
    other?.signal()
    return full
  }

  /// A stream sends a frame of `length` bytes.
  func sends(_ length: Int, on number: StreamNumber, now: Double) {
    state.withLock { $0.paces[number, default: StreamPace()].sends(length, now: now) }
  }

  /// The next step of a stream. Reads a frame on the caller's thread if that is necessary.
  func next(for number: StreamNumber) -> Next {
    while true {
      var (source, additions, written): ((any FrameSource)?, Int, UInt64) = (nil, 0, 0)
      let task = state.withLock { state in
        (source, additions) = (state.source, state.additions)
        let task = state.window.next(for: number, isOver: sessionStop.isSet)
        written = state.window.writtenBelow
        return task
      }
      // The only reference to a frame that is filled: with a second reference, writing would copy it.
      switch consume task {
      case .send(let frame): return .send(frame)
      case .end: return .end
      case .wait: return .wait(until: nil)
      case .fill(var frame):
        let filling = source?.fill(&frame, written: written) ?? .nothing(until: nil)
        switch filling {
        case .full:
          signal { state in [state.window.filled(frame)].compactMap(\.self) }
          // It may have been the last frame of a part that has failed, and is not sent.
          if stopSignal.isSet { state.broadcast() }
        case .nothing(let moment):
          let (other, hasMissed) = state.withLock { state in
            let other = state.window.unfilled(frame, for: number).flatMap { state.wakeups[$0] }
            return (other, state.additions != additions)
          }
          other?.signal()
          // A thread that waits until all is written may wait for these frames.
          state.broadcast()
          if !hasMissed { return .wait(until: moment.map { BootInstant(seconds: $0) }) }
        }
      }
    }
  }

  /// The receiver has written the next `count` frames of a stream.
  func written(_ count: UInt64, on number: StreamNumber) {
    let now = BootInstant.now().seconds
    signal { state in
      state.lastWritten = now
      state.paces[number]?.wrote(Int(count), now: now)
      return state.window.written(count, on: number)
    }
    state.broadcast()
  }

  /// Whether the receiver has written any frame of a stream.
  func hasBrought(_ number: StreamNumber) -> Bool { state.withLock { $0.window.writtenFrames(of: number) > 0 } }

  /// A stream is lost, and a replacement stream takes over its frames under way.
  func lost(_ number: StreamNumber, replacedBy next: StreamNumber) {
    let other = state.withLock { state in
      (state.wakeups[number], state.paces[number]) = (nil, nil)
      return state.window.lost(number, replacedBy: next).flatMap { state.wakeups[$0] }
    }
    other?.signal()
  }

  /// A stream gets no new frames, and ends when its frames under way are written.
  func retire(_ number: StreamNumber) {
    let wakeups = state.withLock { state in
      let other = state.window.retire(number)
      return [state.wakeups[number], other.flatMap { state.wakeups[$0] }]
    }
    for wakeup in wakeups { wakeup?.signal() }
  }

  /// A stream has ended for good.
  func ended(_ number: StreamNumber) {
    state.withLock { state in
      (state.wakeups[number], state.paces[number]) = (nil, nil)
      state.window.ended(number)
    }
  }

  /// The number of `wanted` bytes that a stream may send now; with 0, the moment to ask again.
  func allowance(_ wanted: Int) -> (bytes: Int, next: BootInstant?) {
    state.withLock { state in
      guard state.limit != nil else { return (wanted, nil) }
      let bytes = state.limit?.take(wanted, now: BootInstant.now().seconds) ?? wanted
      guard bytes == 0 else { return (bytes, nil) }
      state.isLimiting = true
      return (0, state.limit.map { BootInstant(seconds: $0.next(for: wanted)) })
    }
  }

  /// The granted bytes that a stream could not send.
  func giveBack(_ count: Int) { state.withLock { $0.limit?.giveBack(count) } }

  var isStopped: Bool { sessionStop.isSet }

  // MARK: Progress

  /// The receiver's present holdings.
  var progress: Arrived { state.withLock { $0.window.progress } }

  /// The counters of the streams and the window.
  func counts() -> SenderEngine.WindowCounts {
    let waiting = state.withLock { $0.source }?.waitingFrames ?? 0
    return state.withLock { state in
      defer { state.isLimiting = false }
      let window = state.window
      var counts = SenderEngine.WindowCounts()
      counts.arrived = window.arrived
      counts.hasProgressed = window.written != Tally()
      counts.waitingFrames = waiting
      counts.unsentFrames = window.unsentBytes.map { $0 / capacity }
      counts.writtenLength = window.writtenLength
      counts.writtenFrames = window.writtenFrames
      counts.lastWritten = state.lastWritten
      counts.framesOfStream = window.framesOfStream
      counts.isLimited = state.isLimiting
      return counts
    }
  }
}
