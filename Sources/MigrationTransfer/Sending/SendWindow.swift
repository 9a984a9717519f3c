package import MigrationArchive
package import MigrationWire

/// The frames between the export and the data streams: packed, under way, and kept until they are written (Protocol §9.4).
///
/// A value without threads or clocks. The window bounds how many frames there are, and with that the sender's memory.
package struct SendWindow: Sendable {
  /// Names a data stream of a session.
  package typealias StreamNumber = UInt32

  /// What a data stream does next.
  package enum Task {
    case send(FrameBuffer)
    /// Nothing to send now; the stream is woken when that changes.
    case wait
    /// Nothing more will come, and everything of this stream is written.
    case end
  }

  /// How many packed frames wait at most. More would only be further from the processor's caches when their turn comes.
  static let mostReady = 8

  private let limit: Int
  private let capacity: Int
  private var free: [FrameBuffer] = []
  private var allocated = 0
  private var ready: [FrameBuffer] = []
  private var underWay: [StreamNumber: [FrameBuffer]] = [:]
  /// What a broken stream had under way, for the one stream that replaces it.
  private var again: [StreamNumber: [FrameBuffer]] = [:]
  /// The streams that wait for a frame, the one that has waited longest first.
  private var idle: [StreamNumber] = []
  /// The streams that get nothing new.
  private var retiring: Set<StreamNumber> = []
  package private(set) var isExported = false

  /// What the receiver has written, and what it held before.
  package private(set) var written = Tally()
  package private(set) var held = Tally()
  /// The lengths of all written frames, and how many there are of all streams and of each.
  package private(set) var writtenLength: UInt64 = 0
  package private(set) var writtenFrames: UInt64 = 0
  private(set) var framesOfStream: [StreamNumber: UInt64] = [:]

  /// `receiverWindow` is what the receiver allows to be under way. No more is kept in memory than a receiver of this program allows.
  init(_ receiverWindow: UInt64) {
    self.init(frames: Int(min(receiverWindow, Limits.window) / UInt64(Limits.frameBody)), of: Limits.plainLength)
  }

  /// So many frames of at most so many bytes.
  package init(frames: Int, of capacity: Int) {
    limit = frames
    self.capacity = capacity
  }

  /// What the receiver has by now.
  package var arrived: Tally { written.adding(held) }

  /// Whether everything that was submitted is written.
  package var isDrained: Bool { ready.isEmpty && again.isEmpty && underWay.values.allSatisfy(\.isEmpty) }

  // MARK: The export's side

  /// An empty buffer; nil while the window has no room for one, or enough frames wait.
  package mutating func takeBuffer() -> FrameBuffer? {
    guard ready.count < Self.mostReady else { return nil }
    if let buffer = free.popLast() { return buffer }
    guard allocated < limit else { return nil }
    allocated += 1
    return FrameBuffer(capacity: capacity)
  }

  /// A frame is to be sent; a stream that waited for one.
  package mutating func submit(_ frame: FrameBuffer) -> StreamNumber? {
    ready.append(frame)
    return idle.isEmpty ? nil : idle.removeFirst()
  }

  /// Something need not be sent.
  package mutating func skip(items: UInt64, bytes: UInt64) {
    held = held.adding(Tally(items: items, bytes: bytes))
  }

  /// Nothing more will be submitted.
  package mutating func finish() { isExported = true }

  // MARK: The streams' side

  /// What a stream does next. With `isOver` it only waits for what it has under way.
  package mutating func next(for number: StreamNumber, isOver: Bool = false) -> Task {
    if !isOver, let frame = takeNext(for: number) {
      // Else the wakeup for another frame could be spent on a stream that is busy.
      idle.removeAll { $0 == number }
      underWay[number, default: []].append(frame)
      return .send(frame)
    }
    let isLast = isExported || isOver || retiring.contains(number)
    if isLast, underWay[number, default: []].isEmpty { return .end }
    if !isLast, !idle.contains(number) { idle.append(number) }
    return .wait
  }

  /// What a stream must send again, and only then what is new.
  private mutating func takeNext(for number: StreamNumber) -> FrameBuffer? {
    guard var frames = again.removeValue(forKey: number) else {
      return ready.isEmpty || retiring.contains(number) ? nil : ready.removeFirst()
    }
    let frame = frames.removeFirst()
    if !frames.isEmpty { again[number] = frames }
    return frame
  }

  /// The receiver has written the next `count` frames of a stream.
  package mutating func written(_ count: UInt64, on number: StreamNumber) {
    guard var frames = underWay.removeValue(forKey: number) else { return }
    for var frame in frames.prefix(Int(count)) {
      written = written.adding(Tally(items: frame.items, bytes: frame.contentBytes))
      writtenLength += UInt64(frame.count)
      frame.removeAll()
      free.append(frame)
    }
    frames.removeFirst(Int(count))
    underWay[number] = frames
    writtenFrames += count
    framesOfStream[number, default: 0] += count
  }

  /// A stream gets nothing new from now on, and ends; another one that waits may have to take what it was woken for.
  package mutating func retire(_ number: StreamNumber) -> StreamNumber? {
    retiring.insert(number)
    idle.removeAll { $0 == number }
    return ready.isEmpty || idle.isEmpty ? nil : idle.removeFirst()
  }

  /// A stream has ended, and everything of it is written.
  package mutating func ended(_ number: StreamNumber) {
    idle.removeAll { $0 == number }
    retiring.remove(number)
    underWay[number] = nil
    framesOfStream[number] = nil
  }

  /// How many frames wait for a stream.
  package var readyFrames: Int { ready.count }

  /// How many frames of a stream are written.
  package func writtenFrames(of number: StreamNumber) -> UInt64 { framesOfStream[number] ?? 0 }

  /// A stream is gone: what it had under way is sent again, by the one that replaces it and by no other (Protocol §7.3).
  /// Another stream that waits may have to take what the lost one was woken for.
  @discardableResult
  package mutating func lost(_ number: StreamNumber, replacedBy next: StreamNumber) -> StreamNumber? {
    idle.removeAll { $0 == number }
    let frames = (underWay.removeValue(forKey: number) ?? []) + (again.removeValue(forKey: number) ?? [])
    if !frames.isEmpty { again[next] = frames }
    framesOfStream[number] = nil
    if retiring.remove(number) != nil { retiring.insert(next) }
    return ready.isEmpty || idle.isEmpty ? nil : idle.removeFirst()
  }
}
