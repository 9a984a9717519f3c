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
  private let staging: Staging
  private let writer: StagingWriter
  private var decoder = FrameDecoder()
  private(set) var machine = IncomingStream()
  /// How many of its frames survive a power failure.
  var durable: UInt64 = 0
  /// The content of its frames that is not yet durable, in their order.
  var promised: [[Promise]] = []
  private var isBusy = false
  private var isOver = false
  private var scene: Scene { receiver.scene }

  init(
    _ receiver: SimulatedReceiver, _ connection: SimulatedConnection, _ session: ReceiverSessionParts,
    _ staging: Staging, _ join: Join, _ worker: Worker
  ) {
    self.receiver = receiver
    self.connection = connection
    self.session = session
    self.staging = staging
    self.join = join
    self.worker = worker
    let transfer = session.transfer
    writer = StagingWriter(staging) { receiver.tellRefusals(transfer) }
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
    if case .failed(let fault) = end { connection.send(StreamMessage.close(fault.close).frame()) }
    receiver.forget(connection.id)
    receiver.done(worker, connection) { [self] in
      receiver.feed(.streamEnded(connection.id, end, held: staging.held))
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
      do throws(ConnectionError) {
        try session.gate.enter()
      } catch {
        return error.code == .stopped ? over(.over) : fail(Fault(error))
      }
      session.writing += 1
      scene.writes(self, in: session)
      if scene.mutation == .acknowledgeBeforeWriting { written(body) }
      receiver.onDisk(after: dice.one(in: 10) ? dice.roll(1...20_000) : dice.roll(1...500)) { [self] in
        reallyWrite(body)
      }
    }
  }

  private func reallyWrite(_ body: [UInt8]) {
    // A write that happens inside a sync's own writes would not be a real one.
    scene.arrived(body)
    receiver.checkNewest(session, "a frame is written")
    var failure: (any Error)?
    receiver.isWriting = true
    do {
      try writer.write(body.span, entries: Limits.dataHeader..<body.count)
    } catch {
      failure = error
    }
    receiver.isWriting = false
    scene.riskStall()
    guard receiver.isAlive else { return }
    receiver.onDisk(after: receiver.world.dice.roll(0...100)) { [self] in
      session.writing -= 1
      session.lastWritten = receiver.world.seconds
      session.gate.leave()
      isBusy = false
      if let failure { return fail(Fault(failure)) }
      if scene.mutation != .acknowledgeBeforeWriting { written(body) }
      advance()
    }
  }

  private func written(_ body: [UInt8]) {
    machine.wrote()
    promised.append(scene.promises(of: staging.transfer).written(body, in: staging, keys: staging.keys))
    acknowledge()
  }

  func acknowledge() {
    guard !isOver else { return }
    machine.synced(durable)
    if let ack = machine.acknowledge() { connection.send(StreamMessage.ack(ack).frame()) }
  }
}
