import MigrationArchive
import MigrationSystem
import MigrationWire
import Synchronization

/// The values that a data stream and the syncer share: the numbers of written and of durable
/// frames.
final class StreamDurability: Sendable {
  let wakeup: Wakeup
  private let written = Atomic<UInt64>(0)
  private let durable = Atomic<UInt64>(0)

  init(wakeup: Wakeup) { self.wakeup = wakeup }

  var writtenFrames: UInt64 { written.load(ordering: .acquiring) }
  var durableFrames: UInt64 { durable.load(ordering: .acquiring) }

  /// The stream's thread: one more frame is in files and journal.
  func wrote(_ frames: UInt64) { written.store(frames, ordering: .releasing) }

  /// The syncer's thread: so many frames survive a power loss.
  func synced(_ frames: UInt64) {
    guard frames > durableFrames else { return }
    durable.store(frames, ordering: .releasing)
    wakeup.signal()
  }
}

/// The receiver's end of one data stream: takes DATA, writes it, acknowledges it. Its thread does
/// the file I/O.
struct IncomingData: ~Copyable {
  private var connection: Connection
  private var stream = IncomingStream()
  private let durability: StreamDurability
  private let writer: StagingWriter
  private let gate: WritingGate
  private let isStopped: @Sendable () -> Bool
  private let traffic: TrafficCount
  /// Whether compressed frames are agreed on.
  private let isCompressible: Bool
  private var decompression = Decompression()
  private var pending: [UInt8] = []
  /// Frames are read into this; it grows to the largest frame that came.
  private var body: [UInt8] = []

  /// Takes over a connection whose JOIN has been accepted. `isCompressible` says whether frames may
  /// be compressed.
  init(
    _ connection: consuming Connection, writer: StagingWriter, durability: StreamDurability, gate: WritingGate,
    traffic: TrafficCount, isCompressible: Bool, isStopped: @escaping @Sendable () -> Bool
  ) throws(Violation) {
    self.traffic = traffic
    self.isCompressible = isCompressible
    self.connection = connection
    self.writer = writer
    self.durability = durability
    self.gate = gate
    self.isStopped = isStopped
    try stream.joined()
  }

  /// Serves the stream until END, and until everything of it is acknowledged as written.
  ///
  /// Throws a `ConnectionError`, a `Violation` or an `ArchiveError`.
  mutating func run() throws {
    try connection.allowStalls()
    var header = [UInt8](repeating: 0, count: Limits.frameHeader)
    while true {
      if isStopped() { throw ConnectionError(.stopped, "the data stream was stopped") }
      try fill(&header, Limits.frameHeader)
      let frame = try FrameHeader(header.span)
      if frame.type == .data { traffic.begin() }
      if body.count < frame.length {
        body = [UInt8](repeating: 0, count: frame.length)
      }
      try fillBody(frame.length)
      switch try StreamMessage(frame.type, body.span, 0..<frame.length) {
      case .data(let data): try take(data, frame.length)
      case .end:
        try stream.ended()
        return finish()
      case .close(let close): throw close
      case nil: break
      case .join, .ack: throw Violation(.state, "a frame of a data stream")
      }
    }
  }

  /// Ends the stream, and tells the sender the reason, as far as it still listens. A CLOSE of the
  /// sender gets no answer.
  mutating func close(_ close: Close?) {
    if let close {
      try? connection.writeAll(StreamMessage.close(close).frame(), until: BootInstant.now().advanced(by: .seconds(1)))
    }
    connection.close(within: .seconds(1))
  }

  private mutating func take(_ data: DataHeader, _ length: Int) throws {
    traffic.add(sent: length, saved: max(0, data.plainLength - (length - Limits.dataHeader)))
    try stream.received(data)
    let payload = Limits.dataHeader..<length
    if data.encoding == .zstd {
      guard isCompressible else { throw Violation(.unknown, "the encoding of a data frame") }
      try decompression.unpack(body, payload, to: data.plainLength)
    }
    do {
      try gate.enter()
      defer { gate.leave() }
      switch data.encoding {
      case .plain: try writer.write(body.span, entries: payload)
      case .zstd: try writer.write(decompression.entries.span, entries: 0..<data.plainLength)
      }
    }
    stream.wrote()
    durability.wrote(stream.writtenFrames)
    try acknowledge()
  }

  /// Sends an acknowledgement. One is under way at a time: the next one covers the frames that come
  /// meanwhile.
  private mutating func acknowledge() throws(ConnectionError) {
    if pending.isEmpty { prepareAcknowledgement() }
    if !pending.isEmpty {
      let taken = try connection.write(pending, 0..<pending.count)
      pending.removeFirst(taken)
    }
    try connection.flush()
  }

  private mutating func prepareAcknowledgement() {
    stream.synced(durability.durableFrames)
    if let ack = stream.acknowledge() { pending += StreamMessage.ack(ack).frame() }
  }

  /// The sender waits for the last acknowledgement, and then closes.
  private mutating func finish() {
    prepareAcknowledgement()
    try? connection.writeAll(pending, until: BootInstant.now().advanced(by: .seconds(2)))
    connection.close()
  }

  private mutating func fillBody(_ count: Int) throws(ConnectionError) {
    var target: [UInt8] = []
    swap(&target, &body)
    defer { swap(&target, &body) }
    try fill(&target, count)
  }

  /// Reads exactly so many bytes, and tells of durable frames meanwhile. A silent sender is the
  /// control connection's business.
  private mutating func fill(_ target: inout [UInt8], _ count: Int) throws(ConnectionError) {
    var filled = 0
    while filled < count {
      switch try connection.read(into: &target, filled..<count) {
      case 0?: throw ConnectionError(.closed, "the other device closed a data stream")
      case let got?: filled += got
      case nil:
        if isStopped() { throw ConnectionError(.stopped, "the data stream was stopped") }
        _ = try connection.wait(until: nil)
        try acknowledge()
      }
    }
  }
}
