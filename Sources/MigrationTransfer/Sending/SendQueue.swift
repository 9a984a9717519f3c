import MigrationArchive
import MigrationSystem
import MigrationWire

/// The frames between the export and the data streams: packed, under way, and kept until they are written (Protocol §9.4).
///
/// The window bounds how many there are, and with that the sender's memory. Every wait ends when the queue is stopped.
final class SendQueue: FrameOutlet {
  /// Names a data stream of this session.
  typealias StreamNumber = UInt32

  /// What a data stream does next.
  enum Task {
    case send(FrameBuffer)
    /// Nothing to send now; the stream's wakeup is signalled when that changes.
    case wait
    /// Nothing more will come, and everything of this stream is written.
    case end
  }

  private struct State: Sendable {
    var free: [FrameBuffer] = []
    var allocated = 0
    var ready: [FrameBuffer] = []
    var underWay: [StreamNumber: [FrameBuffer]] = [:]
    /// What a broken stream had under way, for the one stream that replaces it.
    var again: [StreamNumber: [FrameBuffer]] = [:]
    var wakeups: [StreamNumber: Wakeup] = [:]
    /// The streams that wait for a frame.
    var idle: Set<StreamNumber> = []
    var isExported = false
    var isStopped = false
    var written = Tally()
    var held = Tally()
    var sentBytes: UInt64 = 0

    /// What stream `number` must send again, and only then what is new.
    mutating func takeNext(for number: StreamNumber) -> FrameBuffer? {
      guard var frames = again.removeValue(forKey: number) else { return ready.isEmpty ? nil : ready.removeFirst() }
      let frame = frames.removeFirst()
      if !frames.isEmpty { again[number] = frames }
      return frame
    }
  }

  private let limit: Int
  private let state = Condition(State())
  private let unsentItem: @Sendable (Unsent) -> Void

  /// `window` is what the receiver allows to be under way.
  init(window: UInt64, unsent: @escaping @Sendable (Unsent) -> Void) {
    limit = Int(min(window, Self.ownWindow) / UInt64(Limits.frameBody))
    unsentItem = unsent
  }

  /// What this end keeps in memory at most.
  private static let ownWindow: UInt64 = 24 << 20

  private static let stopped = ArchiveError(.stopped, "the transfer is over")

  // MARK: The export's side

  func buffer() throws(ArchiveError) -> FrameBuffer {
    let buffer = state.wait { [limit] (state) -> Result<FrameBuffer, ArchiveError>? in
      if state.isStopped { return .failure(Self.stopped) }
      if let free = state.free.popLast() { return .success(free) }
      guard state.allocated < limit else { return nil }
      state.allocated += 1
      return .success(FrameBuffer(capacity: Limits.plainLength))
    }
    guard let buffer else { throw Self.stopped }
    return try buffer.get()
  }

  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    let frame = frame
    let wakeup = try state.withLock { (state) throws(ArchiveError) -> Wakeup? in
      if state.isStopped { throw Self.stopped }
      state.ready.append(frame)
      return state.idle.popFirst().flatMap { state.wakeups[$0] }
    }
    wakeup?.signal()
  }

  func drain() throws(ArchiveError) {
    let isDrained = state.wait { (state) -> Bool? in
      if state.isStopped { return false }
      let isDrained = state.ready.isEmpty && state.again.isEmpty && state.underWay.values.allSatisfy(\.isEmpty)
      return isDrained ? true : nil
    }
    guard isDrained == true else { throw Self.stopped }
  }

  func pause(seconds: Double) throws(ArchiveError) {
    let deadline = BootInstant.now().advanced(by: .seconds(seconds))
    if state.wait(until: deadline, { $0.isStopped ? true : nil }) == true { throw Self.stopped }
  }

  func unsent(_ unsent: Unsent) throws(ArchiveError) { unsentItem(unsent) }

  func skipped(items: UInt64, bytes: UInt64) {
    state.withLock { state in
      state.held.items += items
      state.held.bytes += bytes
    }
  }

  /// Nothing more will be submitted, and everything is written: the streams end.
  func finish() {
    let wakeups = state.withLock { state in
      state.isExported = true
      return Array(state.wakeups.values)
    }
    for wakeup in wakeups { wakeup.signal() }
  }

  /// Ends every wait; the export and the streams find out.
  func stop() {
    let wakeups = state.withLock { state in
      state.isStopped = true
      return Array(state.wakeups.values)
    }
    state.broadcast()
    for wakeup in wakeups { wakeup.signal() }
  }

  // MARK: The streams' side

  /// A stream is about to come up; its wakeup is signalled whenever it has to look here.
  func register(_ number: StreamNumber, _ wakeup: Wakeup) {
    state.withLock { $0.wakeups[number] = wakeup }
  }

  /// What stream `number` does next.
  func next(for number: StreamNumber) -> Task {
    state.withLock { state in
      if !state.isStopped, let frame = state.takeNext(for: number) {
        // Else the wakeup for another frame could be spent on a stream that is busy.
        state.idle.remove(number)
        state.underWay[number, default: []].append(frame)
        state.sentBytes += frame.contentBytes
        return .send(frame)
      }
      if state.isExported || state.isStopped, state.underWay[number, default: []].isEmpty { return .end }
      state.idle.insert(number)
      return .wait
    }
  }

  /// The receiver has written the next `count` frames of a stream.
  func written(_ count: UInt64, on number: StreamNumber) {
    state.withLock { state in
      guard var frames = state.underWay.removeValue(forKey: number) else { return }
      for var frame in frames.prefix(Int(count)) {
        state.written.items += frame.items
        state.written.bytes += frame.contentBytes
        frame.removeAll()
        state.free.append(frame)
      }
      frames.removeFirst(Int(count))
      state.underWay[number] = frames
    }
    state.broadcast()
  }

  /// A stream is gone: what it had under way is sent again, by the one that replaces it and by no other (Protocol §7.3).
  func lost(_ number: StreamNumber, replacedBy next: StreamNumber) {
    state.withLock { state in
      state.idle.remove(number)
      state.wakeups[number] = nil
      let frames = (state.underWay.removeValue(forKey: number) ?? []) + (state.again.removeValue(forKey: number) ?? [])
      if !frames.isEmpty { state.again[next] = frames }
    }
  }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  // MARK: Progress

  /// What the receiver holds by now: items, and bytes of content.
  var arrived: Tally {
    state.withLock {
      Tally(items: $0.written.items + $0.held.items, bytes: $0.written.bytes + $0.held.bytes)
    }
  }

  var heldBytes: UInt64 { state.withLock { $0.held.bytes } }
  var sentBytes: UInt64 { state.withLock { $0.sentBytes } }
}
