import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire
import TestSupport

/// The worker of a data stream at the receiver: reads DATA, writes it with the real writer, and
/// acknowledges it.
final class IncomingWorker {
  let connection: SimulatedConnection
  let join: Join
  let worker: Worker
  private let receiver: SimulatedReceiver
  private let session: ReceiverSessionParts
  /// What writes the newest part.
  private var writer: (part: ReceiverPartParts, writer: StagingWriter)?
  private var decoder = FrameDecoder()
  private(set) var machine = IncomingStream()
  /// How many of its frames survive a power failure.
  var durable: UInt64 = 0
  /// The content of its frames that is not yet durable, in their order, and the names of their parts;
  /// those of a part that has failed promise nothing.
  var promised: [(part: TransferID, [Promise])] = []
  private var isBusy = false
  private var isOver = false
  private var scene: Scene { receiver.scene }

  init(
    _ receiver: SimulatedReceiver, _ connection: SimulatedConnection, _ session: ReceiverSessionParts,
    _ join: Join, _ worker: Worker
  ) {
    self.receiver = receiver
    self.connection = connection
    self.session = session
    self.join = join
    self.worker = worker
  }

  private func writer(of part: ReceiverPartParts) -> StagingWriter {
    if let writer, writer.part === part { return writer.writer }
    let (receiver, transfer) = (receiver, session.transfer)
    let new = StagingWriter(part.staging) { receiver.tellRefusals(of: part.staging, transfer) }
    writer = (part, new)
    return new
  }

  func begin() {
    worker.whenTold = { [self] in receiver.run(after: receiver.world.dice.roll(0...500)) { [self] in advance() } }
    do {
      try machine.joined()
    } catch {
      return fail(Fault(error))
    }
    connection.read { [self] in advance() }
    receiver.run(after: 0) { [self] in advance() }
  }

  func fail(_ fault: Fault) { over(.failed(fault)) }

  /// Ends before it begins.
  func leave() { over(.over) }

  private func over(_ end: ReceiverEngine.StreamEnd) {
    guard !isOver else { return }
    isOver = true
    if case .failed(let fault) = end, !fault.isTold, !fault.isOfPart {
      connection.send(StreamMessage.close(fault.close).frame())
    }
    receiver.forget(connection.id)
    receiver.done(worker, connection) { [self] in
      receiver.feed(.streamEnded(connection.id, end, held: session.part?.staging.held ?? Tally()))
    }
  }

  /// Does the next step, unless it is writing.
  private func advance() {
    guard !isOver, !isBusy else { return }
    if worker.mustEnd { return over(.over) }
    do {
      if connection.count > 0 { decoder.append(connection.takeAll().span) }
      while !isOver, !isBusy {
        guard let frame = try decoder.next() else {
          if connection.isEnded { over(.over) }
          return
        }
        try take(frame)
      }
    } catch {
      fail(Fault(error))
    }
  }

  private func take(_ frame: FrameDecoder.Frame) throws {
    switch try StreamMessage(frame.type, decoder.bytes.span, frame.body) {
    case .data(let header):
      try machine.received(header)
      write(Array(decoder.bytes[frame.body]))
    case .end:
      try machine.ended()
      acknowledge()
      over(.over)
    case .close(let close): throw Fault(told: close)
    case nil: break
    case .join, .ack: throw Violation(.state, "a frame of a data stream")
    }
  }

  /// Passes the gate, writes after a delay in the disk, and acknowledges after another delay.
  private func write(_ body: [UInt8]) {
    isBusy = true
    let dice = receiver.world.dice
    receiver.run(after: dice.roll(0...200)) { [self] in
      guard let part = session.part else { return scene.world.fail("a stream of nothing") }
      do throws(ConnectionError) {
        guard try part.gate.enter() else { return discarded(body) }
      } catch {
        return error.code == .stopped ? over(.over) : fail(Fault(error))
      }
      scene.world.check(!part.hasFailed, "data of a part that has failed is written")
      part.writing += 1
      scene.writes(self, in: session)
      if scene.mutation == .acknowledgeBeforeWriting { written(body, part.staging) }
      receiver.onDisk(after: dice.one(in: 10) ? dice.roll(1...20_000) : dice.roll(1...500)) { [self] in
        reallyWrite(body, part)
      }
    }
  }

  /// The part has failed: a later session sends this again.
  private func discarded(_ body: [UInt8]) {
    scene.interrupted(underWay: body.count)
    isBusy = false
    machine.wrote()
    promised.append((0, []))
    acknowledge()
    advance()
  }

  private func reallyWrite(_ body: [UInt8], _ part: ReceiverPartParts) {
    // A write that happens inside a sync's own writes would not be a real one.
    scene.arrived(body)
    receiver.checkNewest(session, "a frame is written")
    var failure: (any Error)?
    receiver.isWriting = true
    do {
      if scene.strikes(.writing) { throw Fault(.storage, "the disk fails") }
      try writer(of: part).write(body.span, entries: Limits.dataHeader..<body.count)
    } catch {
      failure = error
    }
    receiver.isWriting = false
    scene.riskStall()
    guard receiver.isAlive else { return }
    receiver.onDisk(after: receiver.world.dice.roll(0...100)) { [self] in
      part.writing -= 1
      part.lastWritten = receiver.world.seconds
      part.gate.leave()
      isBusy = false
      if let failure { return fail(Fault(failure)) }
      if scene.mutation != .acknowledgeBeforeWriting { written(body, part.staging) }
      advance()
    }
  }

  private func written(_ body: [UInt8], _ staging: Staging) {
    machine.wrote()
    promised.append(
      (staging.transfer, scene.promises(of: staging).written(body, in: staging, keys: staging.keys)))
    acknowledge()
  }

  func acknowledge() {
    guard !isOver else { return }
    machine.synced(durable)
    if let ack = machine.acknowledge() { connection.send(StreamMessage.ack(ack).frame()) }
  }
}
