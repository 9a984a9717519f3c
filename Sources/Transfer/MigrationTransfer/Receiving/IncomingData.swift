import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import Synchronization

/// The receiver's end of one data stream: takes DATA, writes it, acknowledges it. Its thread does
/// the file I/O.
struct IncomingData: ~Copyable {
  private var connection: Connection
  private var stream = IncomingStream()
  private let durability: StreamDurability
  private let session: ReceiverSessionContext
  /// The newest part, and its writer.
  private var writer: (part: IncomingPartContext, writer: StagingWriter)?
  private let refused: @Sendable ([NotStored]) -> Void
  private let isStopped: @Sendable () -> Bool
  private var decompression = Decompression()
  private var pending: [UInt8] = []
  /// When the stream last acknowledged, or waited for bytes.
  private var lastAnswer = BootInstant.now()
  /// The buffer for one frame. Grows to the largest frame.
  private var body: [UInt8] = []

  /// Begins with a connection whose JOIN was accepted. `refused` gets items that the destination
  /// cannot hold.
  init(
    _ connection: consuming Connection, of session: ReceiverSessionContext, durability: StreamDurability,
    refused: @escaping @Sendable ([NotStored]) -> Void, isStopped: @escaping @Sendable () -> Bool
  ) throws(Violation) {
    self.connection = connection
    self.session = session
    self.durability = durability
    self.refused = refused
    self.isStopped = isStopped
    try stream.joined()
  }

  /// Serves the stream until END, and until everything of it is acknowledged as written.
  mutating func run() throws {
    try connection.allowStalls()
    var header = [UInt8](repeating: 0, count: Limits.frameHeader)
    while true {
      if isStopped() { throw ConnectionError(.stopped, "the data stream was stopped") }
      try fill(&header, Limits.frameHeader)
      let frame = try FrameHeader(header.span)
      if frame.type == .data { session.transfer.traffic.begin() }
      if body.count < frame.length {
        body = [UInt8](repeating: 0, count: frame.length)
      }
      try fillBody(frame.length)
      switch try StreamMessage(frame.type, body.span, 0..<frame.length) {
      case .data(let data): try take(data, frame.length)
      case .end:
        try stream.ended()
        return finish()
      case .close(let close): throw ConnectionError(told: close)
      case nil: break
      case .join, .ack: throw Violation(.state, "a frame of a data stream")
      }
    }
  }

  /// Ends the stream, and tells the sender the reason, if it still reads. A CLOSE of the sender gets
  /// no answer.
  mutating func close(_ close: Close?) {
    if let close {
      try? connection.writeAll(StreamMessage.close(close).frame(), until: BootInstant.now().advanced(by: .seconds(1)))
    }
    connection.close(within: .seconds(1))
  }

  private mutating func take(_ data: DataHeader, _ length: Int) throws {
    session.transfer.traffic.add(sent: length, saved: max(0, data.plainLength - (length - Limits.dataHeader)))
    try stream.received(data)
    let part = session.part
    let isNeeded = try part.gate.enter()
    if isNeeded {
      defer { part.gate.leave() }
      let writer = writer(of: part)
      let payload = Limits.dataHeader..<length
      switch data.encoding {
      case .plain: try writer.write(body.span, entries: payload)
      case .zstd:
        guard session.isCompressible else { throw Violation(.unknown, "the encoding of a data frame") }
        try decompression.unpack(body, payload, to: data.plainLength)
        try writer.write(decompression.entries.span, entries: 0..<data.plainLength)
      }
    }
    stream.wrote()
    durability.wrote(stream.writtenFrames)
    if !isNeeded { durability.settle() }
    if stream.owesAcknowledgement(after: BootInstant.now().seconds(since: lastAnswer)) { try acknowledge() }
  }

  private mutating func writer(of part: IncomingPartContext) -> StagingWriter {
    if let writer, writer.part === part { return writer.writer }
    let (transfer, refused) = (session.transfer, refused)
    let new = StagingWriter(part.staging) { transfer.tellRefusals(of: part.staging, refused) }
    writer = (part, new)
    return new
  }

  /// Sends an acknowledgement, one at a time: the next one covers the frames that arrive meanwhile.
  private mutating func acknowledge() throws(ConnectionError) {
    lastAnswer = .now()
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

  /// Reads exactly `count` bytes. Before it waits for them, it acknowledges what is written or
  /// durable. The control connection detects a silent sender.
  private mutating func fill(_ target: inout [UInt8], _ count: Int) throws(ConnectionError) {
    var filled = 0
    while filled < count {
      switch try connection.read(into: &target, filled..<count) {
      case 0?: throw ConnectionError(.closed, "the other device closed a data stream")
      case let got?: filled += got
      case nil:
        if isStopped() { throw ConnectionError(.stopped, "the data stream was stopped") }
        try acknowledge()
        _ = try connection.wait(until: nil)
        lastAnswer = .now()
      }
    }
  }

  /// The numbers of written and of durable frames, which a data stream and the syncer share.
  final class StreamDurability: Sendable {
    let wakeup: Wakeup
    private let written = Atomic<UInt64>(0)
    private let durable = Atomic<UInt64>(0)

    init(wakeup: Wakeup) { self.wakeup = wakeup }

    var writtenFrames: UInt64 { written.load(ordering: .acquiring) }
    var durableFrames: UInt64 { durable.load(ordering: .acquiring) }

    /// Notes on the stream's thread the number of frames in files and journal.
    func wrote(_ frames: UInt64) { written.store(frames, ordering: .releasing) }

    /// Notes the number of frames that survive a power loss.
    func synced(_ frames: UInt64) {
      if durable.max(frames, ordering: .acquiringAndReleasing).oldValue < frames { wakeup.signal() }
    }

    /// The part has ended: its frames are durable, or not needed any more.
    func settle() { synced(writtenFrames) }
  }
}

extension ReceiverSessionContext {
  /// Serves one data stream, from JOIN to its end, and posts the event of its end.
  func receive(on served: ServedConnection, _ setup: ReceiverSetup) {
    func end(_ end: ReceiverEngine.StreamEnd) {
      setup.post(.streamEnded(served.id, end, held: part.staging.held))
    }
    guard let connection = served.take() else { return end(.over) }
    let durability = IncomingData.StreamDurability(wakeup: connection.wakeup)
    streams.add(durability)
    defer { streams.remove(durability) }
    do {
      var incoming = try incoming(connection, durability, served.dismissal, setup)
      do {
        try incoming.run()
        end(.over)
      } catch {
        let fault = Failure(setup.importers.area.reason(of: error))
        // The sender replaces a stream that was cut; the control connection knows when it cannot.
        if fault.code == .connection { return end(.over) }
        setup.failedStreams.during(served) {
          end(.failed(fault))
          // The remaining messages delay no other work: the stream writes no more. The control
          // connection tells the failure of a part, and the sender then opens another stream.
          incoming.close(fault.isTold || fault.isOfPart ? nil : fault.close)
        }
      }
    } catch {
      end(.failed(Failure(error)))
    }
  }

  private func incoming(
    _ connection: consuming Connection, _ durability: IncomingData.StreamDurability,
    _ dismissal: ServedConnection.Dismissal, _ setup: ReceiverSetup
  ) throws -> IncomingData {
    let transfer = transfer.identifier
    return try IncomingData(
      connection, of: self, durability: durability, refused: { setup.post(.refused(transfer, $0)) },
      isStopped: { dismissal.isDismissed })
  }
}
