import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The worker of a data stream at the sender: connects, joins, and sends the frames that the real
/// window gives it.
final class OutgoingWorker {
  /// How often a waiting stream checks for progress, in microseconds.
  private static let pause = 5_000_000

  let join: Join
  let worker: Worker
  private(set) var connection: SimulatedConnection?
  private let sender: SimulatedSender
  private let session: SenderSessionParts
  private var decoder = FrameDecoder()
  private var machine = OutgoingStream()
  private var isBusy = false
  /// Whether it is reading a frame; its thread notices nothing else until it has done so.
  private var isReading = false
  /// How it ends after reading that frame.
  private var laterEnd: SenderEngine.StreamEnd?
  private var isOver = false
  private var hasBrought = false
  /// The lengths of the frames that are sent and not acknowledged.
  private(set) var underWay: [Int] = []
  private var watch: StallWatch
  private let road: SenderEngine.Road
  private var taken: UInt64 = 0

  init(
    _ sender: SimulatedSender, _ session: SenderSessionParts, _ join: Join, _ worker: Worker, attempts: Int,
    _ road: SenderEngine.Road
  ) {
    self.sender = sender
    self.session = session
    self.join = join
    self.worker = worker
    self.road = road
    watch = StallWatch(now: sender.world.seconds, patience: StallWatch.patience, attempts: attempts)
  }

  func begin() {
    guard let order = session.order else { return }
    let identity = sender.identities[order.transfer] ?? sender.paired
    if road != .asControl, sender.world.dice.one(in: 2) { return miss() }
    SimulatedSender.Handshake(sender, .join, as: identity, with: .receiver, worker) { [self] handshake in
      switch handshake.result {
      case .success(let connection): joined(connection)
      case .failure(let error): broke(error)
      }
    }.start()
  }

  /// There is no way past the relay.
  private func miss() {
    worker.whenTold = { [self] in sender.run(after: sender.world.dice.roll(0...1_000)) { [self] in over(.stopped) } }
    if worker.mustEnd { return over(.stopped) }
    sender.run(after: sender.world.dice.roll(100...5_000_000)) { [self] in over(.lost(hasBrought: hasBrought)) }
  }

  private func broke(_ error: ConnectionError) {
    let isOnItsWay = road != .asControl && connection == nil
    over(
      worker.mustEnd
        ? .stopped
        : isOnItsWay ? .lost(hasBrought: hasBrought) : SenderEngine.StreamEnd(by: error, hasBrought: hasBrought))
  }

  func over(_ end: SenderEngine.StreamEnd) {
    guard !isOver else { return }
    if isReading {
      laterEnd = laterEnd ?? end
      return
    }
    isOver = true
    worker.whenTold = nil
    connection?.close()
    session.underWay[join.stream] = underWay.reduce(0, +)
    underWay = []
    sender.end(worker) { [self] in
      session.streams.removeAll { $0 === self }
      sender.feed(.streamEnded(session.number, join.stream, end))
    }
  }

  private func joined(_ connection: SimulatedConnection) {
    self.connection = connection
    connection.send(StreamMessage.join(join).frame())
    worker.whenTold = { [self] in sender.run(after: sender.world.dice.roll(0...1_000)) { [self] in over(.stopped) } }
    if worker.mustEnd { return over(.stopped) }
    sender.feed(.streamJoined(session.number, join.stream, by: way))
    connection.read { [self] in hear() }
    look()
    pump()
  }

  /// The way past the relay that was found.
  private var way: Way? {
    switch road {
    case .asControl: nil
    case .way(let way): way
    case .round(let ways): sender.world.dice.pick(ways)
    }
  }

  /// Gives up a stream without progress.
  private func look() {
    sender.run(after: Self.pause) { [self] in
      guard !isOver else { return }
      if isReading { return look() }
      let trace = StallWatch.Trace(underWay: machine.underWay, taken: taken)
      if watch.isStalled(trace, isIdle: machine.underWay == 0, now: sender.world.seconds) {
        return broke(ConnectionError(.timedOut, "a data stream makes no progress"))
      }
      look()
    }
  }

  /// Sends the next frames, if there are any.
  func pump() {
    guard let connection, !isBusy, !isReading, !isOver, !sender.isFinished else { return }
    switch session.window?.next(for: join.stream, isOver: session.isStopped) {
    case .send(let frame):
      let header = DataHeader(sequence: machine.assign(), encoding: .plain, plainLength: frame.count)
      let bytes = Array(frame.bytes[..<frame.count])
      sender.scene.sending(bytes)
      underWay.append(bytes.count)
      taken += UInt64(bytes.count)
      connection.send(StreamMessage.data(header).frame(payload: frame.count) + bytes)
      isBusy = true
      sender.run(after: sender.world.dice.roll(1...1_500)) { [self] in
        isBusy = false
        pump()
      }
    case .fill(let frame): read(frame)
    case .end:
      guard !session.isStopped else { return over(.stopped) }
      machine.end()
      connection.send(StreamMessage.end.frame())
      over(.finished)
    case .wait, nil: break
    }
  }

  /// Reads the next frame, which takes time and needs the disk.
  private func read(_ frame: FrameBuffer) {
    isReading = true
    sender.onDisk(after: sender.world.dice.roll(0...300)) { [self] in
      isReading = false
      let isFilled = sender.fill(frame, for: join.stream, of: session)
      watch.resume(now: sender.world.seconds)
      if let end = laterEnd { return over(end) }
      guard let connection else { return }
      if connection.count > 0 || connection.isEnded { hear() } else if isFilled || session.isStopped { pump() }
    }
  }

  private func hear() {
    guard let connection, !isOver, !isReading else { return }
    do throws(Violation) {
      if connection.count > 0 { decoder.append(connection.takeAll().span) }
      while let frame = try decoder.next() {
        switch try StreamMessage(frame.type, decoder.bytes.span, frame.body) {
        case .ack(let ack):
          let count = try machine.received(ack)
          underWay.removeFirst(Int(count))
          if count > 0 {
            hasBrought = true
            sender.lastProgress = sender.world.seconds
          }
          sender.wake(session, session.window?.written(count, on: join.stream) ?? [])
          sender.endExport(session)
        case .close(let close): return broke(ConnectionError(told: close))
        case nil: break
        case .join, .data, .end: throw Violation(.state, "a frame of a data stream")
        }
      }
      if connection.isEnded { return broke(ConnectionError(.closed, "the other device closed a data stream")) }
      pump()
    } catch {
      broke(ConnectionError(error))
    }
  }
}
