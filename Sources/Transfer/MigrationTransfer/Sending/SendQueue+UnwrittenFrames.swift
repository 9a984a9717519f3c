import MigrationArchive
import MigrationWire

extension SendQueue {
  /// The frames of the data streams: being filled, under way, and kept until they are written
  /// (Protocol §9.4).
  ///
  /// A value without threads or clocks. The window bounds how many bytes are under way, and with that
  /// the sender's memory.
  struct UnwrittenFrames: Sendable {
    /// Names a data stream of a session.
    package typealias StreamNumber = UInt32

    /// The next step of a data stream.
    package enum Task {
      case send(FrameBuffer)
      /// Read the next content into this frame.
      case fill(FrameBuffer)
      /// Nothing to send now; the stream is woken when that changes.
      case wait
      /// Nothing more will come, and everything of this stream is written.
      case end
    }

    /// The most bytes that the receiver allows to be under way, and the most memory that frames take.
    private let limit: UInt64
    /// The memory of almost every frame.
    private let capacity: Int
    private var free: [FrameBuffer] = []
    private var memory: UInt64 = 0
    private var lastNumber: UInt64 = 0
    private var filling: Set<UInt64> = []
    /// Filled frames that no stream has sent.
    private var ready: [FrameBuffer] = []
    private var underWay: [StreamNumber: [FrameBuffer]] = [:]
    /// The frames under way of a broken stream, for the stream that replaces it.
    private var again: [StreamNumber: [FrameBuffer]] = [:]
    /// The bytes of DATA bodies under way, including bodies that are sent again.
    private var bytesUnderWay: UInt64 = 0
    /// The streams that wait for a frame, the longest wait first.
    private var idle: [StreamNumber] = []
    /// The streams that get no new frames.
    private var retiring: Set<StreamNumber> = []
    package private(set) var isExported = false

    /// The amount that the receiver has written, and its holdings from before.
    package private(set) var written = Tally()
    package private(set) var held = Tally()
    /// The bytes of holes among the written ones.
    private var holes: UInt64 = 0
    /// The lengths of all written frames, and their number in total and for each stream.
    package private(set) var writtenLength: UInt64 = 0
    package private(set) var writtenFrames: UInt64 = 0
    private(set) var framesOfStream: [StreamNumber: UInt64] = [:]

    /// `receiverWindow` is the most that the receiver allows to be under way, `capacity` the memory
    /// that almost every frame needs. The sender keeps no more than `Limits.sendWindow` in
    /// memory.
    package init(_ receiverWindow: UInt64, of capacity: Int) {
      limit = min(receiverWindow, Limits.sendWindow)
      self.capacity = capacity
    }

    /// Whether the part has failed, and nothing of it that is not sent yet is needed.
    private var isAbandoned = false
    /// How many bytes the running part has; nil where that is an estimate.
    private var total: UInt64?
    /// The amount written before the running part.
    private var before = (written: Tally(), holes: UInt64(0))

    /// The receiver's present holdings of the running part.
    package var arrived: Tally {
      Tally(items: written.items - before.written.items, bytes: written.bytes - before.written.bytes).adding(held)
    }

    /// The same, with its holes.
    package var progress: Arrived { Arrived(arrived, holes: holes - before.holes, uncounted: held.bytes) }

    /// Another part begins: everything of the one before is written.
    package mutating func beginPart(of bytes: UInt64?) {
      (before, held, isAbandoned, total) = ((written, holes), Tally(), false, bytes)
    }

    /// The part has failed: what no stream has sent is not sent.
    package mutating func abandon() {
      isAbandoned = true
      for frame in ready { free(frame) }
      ready = []
    }

    private mutating func free(_ frame: FrameBuffer) {
      var frame = frame
      frame.removeAll()
      if frame.bytes.count == capacity { free.append(frame) } else { memory -= UInt64(frame.bytes.count) }
    }

    /// Whether everything that was filled is written.
    package var isWritten: Bool { ready.isEmpty && again.isEmpty && underWay.values.allSatisfy(\.isEmpty) }
    /// Whether that is so, and nothing is being filled.
    package var isDrained: Bool { isWritten && filling.isEmpty }

    /// All frames with a number below this one are written.
    package var writtenBelow: UInt64 {
      let unwritten = [ready] + Array(underWay.values) + Array(again.values)
      let oldest = unwritten.compactMap { $0.map(\.number).min() } + [lastNumber + 1]
      return min(oldest.min() ?? 0, filling.min() ?? .max)
    }

    /// About how many bytes of the running part no stream has sent; nil where that is not known.
    var unsentBytes: Int? {
      total.map { max(0, Int(clamping: $0) - Int(clamping: arrived.bytes + bytesUnderWay)) }
    }

    /// Whether another stream may send what this stream would send next.
    func canPass(_ number: StreamNumber) -> Bool {
      !isExported && again[number] == nil && !retiring.contains(number)
    }

    /// The receiver has items that need not be sent.
    package mutating func skip(items: UInt64, bytes: UInt64) {
      held = held.adding(Tally(items: items, bytes: bytes))
    }

    /// Nothing more will be filled.
    package mutating func finish() { isExported = true }

    // MARK: The streams' side

    /// The next step of a stream. With `isOver` it only waits for its frames under way.
    package mutating func next(for number: StreamNumber, isOver: Bool = false) -> Task {
      if !isOver {
        if let frame = takeNext(for: number) {
          // Otherwise a busy stream could get the wakeup for another frame.
          idle.removeAll { $0 == number }
          underWay[number, default: []].append(frame)
          return .send(frame)
        }
        if !isExported, !retiring.contains(number), ready.isEmpty, let frame = takeBuffer() {
          idle.removeAll { $0 == number }
          return .fill(frame)
        }
      }
      let isLast = isExported || isOver || retiring.contains(number)
      if isLast, underWay[number, default: []].isEmpty { return .end }
      if !isLast { wait(number) }
      return .wait
    }

    private mutating func wait(_ number: StreamNumber) {
      if !idle.contains(number) { idle.append(number) }
    }

    /// The frames that a stream must send again, and after them new ones.
    private mutating func takeNext(for number: StreamNumber) -> FrameBuffer? {
      if var frames = again.removeValue(forKey: number) {
        let frame = frames.removeFirst()
        if !frames.isEmpty { again[number] = frames }
        return frame
      }
      guard !retiring.contains(number), let first = ready.first, bytesUnderWay + first.bodyLength <= limit else {
        return nil
      }
      bytesUnderWay += first.bodyLength
      return ready.removeFirst()
    }

    /// An empty buffer; nil while the window has no room for one.
    private mutating func takeBuffer() -> FrameBuffer? {
      guard bytesUnderWay + UInt64(capacity + Limits.dataHeader) <= limit else { return nil }
      var frame: FrameBuffer
      if let last = free.popLast() {
        frame = last
      } else {
        guard memory + UInt64(capacity) <= limit else { return nil }
        memory += UInt64(capacity)
        frame = FrameBuffer(capacity: capacity)
      }
      lastNumber += 1
      frame.number = lastNumber
      filling.insert(lastNumber)
      return frame
    }

    /// A frame is filled. Returns a stream to wake.
    package mutating func filled(_ frame: FrameBuffer) -> StreamNumber? {
      filling.remove(frame.number)
      memory += UInt64(frame.bytes.count - capacity)
      if isAbandoned {
        free(frame)
        return nil
      }
      ready.append(frame)
      return wake()
    }

    /// There was nothing to fill a frame with. The stream is woken when that may have changed.
    /// Returns the stream to wake now: a waiting stream if this stream is retiring; this stream if a
    /// ready frame has come meanwhile.
    package mutating func unfilled(_ frame: FrameBuffer, for number: StreamNumber) -> StreamNumber? {
      filling.remove(frame.number)
      free.append(frame)
      if retiring.contains(number) { return wake() }
      if !ready.isEmpty { return number }
      wait(number)
      return nil
    }

    /// A stream leaves the next frame to another one. Returns a stream to wake, which may have to take
    /// the frame for which this stream was woken.
    mutating func pass(_ number: StreamNumber) -> StreamNumber? {
      idle.removeAll { $0 == number }
      return wake()
    }

    private mutating func wake() -> StreamNumber? { idle.isEmpty ? nil : idle.removeFirst() }

    /// Removes and returns all waiting streams.
    package mutating func wakeAll() -> [StreamNumber] {
      defer { idle = [] }
      return idle
    }

    /// The receiver has written the next `count` frames of a stream. Returns the streams to wake.
    package mutating func written(_ count: UInt64, on number: StreamNumber) -> [StreamNumber] {
      guard var frames = underWay.removeValue(forKey: number) else { return [] }
      for frame in frames.prefix(Int(count)) {
        written = written.adding(Tally(items: frame.items, bytes: frame.contentBytes))
        holes += frame.holeBytes
        writtenLength += UInt64(frame.count)
        bytesUnderWay -= frame.bodyLength
        free(frame)
      }
      frames.removeFirst(Int(count))
      underWay[number] = frames
      writtenFrames += count
      framesOfStream[number, default: 0] += count
      return (0..<count).compactMap { _ in wake() }
    }

    /// A stream gets nothing new from now on, and ends. Returns a waiting stream, which may have to
    /// take the frame for which this stream was woken.
    package mutating func retire(_ number: StreamNumber) -> StreamNumber? {
      retiring.insert(number)
      return pass(number)
    }

    /// A stream has ended, and everything of it is written.
    package mutating func ended(_ number: StreamNumber) {
      idle.removeAll { $0 == number }
      retiring.remove(number)
      underWay[number] = nil
      framesOfStream[number] = nil
    }

    /// The number of written frames of a stream.
    package func writtenFrames(of number: StreamNumber) -> UInt64 { framesOfStream[number] ?? 0 }

    /// A stream is gone. Its frames under way are sent again, by its successor and by no other stream
    /// (Protocol §7.3). Another stream that waits may have to take the frame for which the lost
    /// stream was woken.
    @discardableResult
    package mutating func lost(_ number: StreamNumber, replacedBy next: StreamNumber) -> StreamNumber? {
      idle.removeAll { $0 == number }
      let frames = (underWay.removeValue(forKey: number) ?? []) + (again.removeValue(forKey: number) ?? [])
      if !frames.isEmpty { again[next] = frames }
      framesOfStream[number] = nil
      if retiring.remove(number) != nil { retiring.insert(next) }
      return wake()
    }
  }
}

extension FrameBuffer {
  /// The greatest length of its DATA's body.
  fileprivate var bodyLength: UInt64 { UInt64(count + Limits.dataHeader) }
}
