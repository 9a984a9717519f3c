import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport

/// What the workers of one session share at the sender.
final class SenderSessionParts {
  let number: SessionNumber
  var accept: Accept?
  var held = HeldItems()
  /// What the destination cannot hold, as this session was told.
  var refused: Set<Mark> = []
  var window: SendWindow?
  var streams: [OutgoingWorker] = []
  /// How many bytes streams that broke had under way, until these are another one's.
  var underWay: [UInt32: Int] = [:]
  /// Whether its workers are to end.
  var isStopped = false
  var exportStart = 0
  var export: Worker?
  /// Whether it waits for the export of another process to end.
  var isExportQueued = false

  init(_ number: SessionNumber) { self.number = number }
}

extension SimulatedSender {
  func performInSession(_ action: Engine.Action) {
    switch action {
    case .keepHeld(let number, let page): if ground.mutation != .ignoreLedger { session(number).held.add(page) }
    case .keepPartial(let number, let partial):
      if ground.mutation != .ignoreLedger { session(number).held.add(partial) }
    case .export(let number, let order): export(session(number), order)
    case .openStream(let number, let join, let attempts): openStream(session(number), join, attempts)
    case .moveFrames(let number, let from, let to):
      ground.interrupted(underWay: session(number).underWay.removeValue(forKey: from) ?? 0)
      wake(session(number), [session(number).window?.lost(from, replacedBy: to), to])
    case .retire(let number, let stream): wake(session(number), [session(number).window?.retire(stream), stream])
    case .forgetStream(let number, let stream): session(number).window?.ended(stream)
    case .refuse(let number, let mark): session(number).refused.insert(mark)
    case .finishWindow(let number):
      session(number).window?.finish()
      for stream in session(number).streams { stream.pump() }
    case .stopSession(let number): stop(session(number))
    case .noteFinish(let number, let transfer, let finish): noteFinish(number, transfer, finish)
    case .readWindow(let number): feed(.window(number, counts(of: session(number))))
    default: break
    }
  }

  func session(_ number: SessionNumber) -> SenderSessionParts {
    if let known = sessions[number] { return known }
    let new = SenderSessionParts(number)
    sessions[number] = new
    return new
  }

  private func stop(_ session: SenderSessionParts) {
    end(session)
    session.export?.end()
    for stream in session.streams { stream.worker.end() }
  }

  /// A session is over: what it had under way may be sent again, by another one.
  func end(_ session: SenderSessionParts) {
    guard !session.isStopped else { return }
    session.isStopped = true
    let underWay = session.underWay.values.reduce(0, +) + session.streams.flatMap(\.underWay).reduce(0, +)
    ground.interrupted(underWay: underWay)
  }

  private func wake(_ session: SenderSessionParts, _ numbers: [UInt32?]) {
    for case let number? in numbers { session.streams.first { $0.join.stream == number }?.pump() }
  }

  private func counts(of session: SenderSessionParts) -> Engine.WindowCounts {
    var counts = Engine.WindowCounts()
    guard let window = session.window else { return counts }
    counts.arrived = window.arrived
    counts.hasProgressed = window.written != Tally()
    counts.waitingFrames = window.readyFrames
    counts.writtenLength = window.writtenLength
    counts.writtenFrames = window.writtenFrames
    for stream in session.streams {
      counts.framesOfStream[stream.join.stream] = window.writtenFrames(of: stream.join.stream)
    }
    counts.isLimited = world.dice.one(in: 10)
    return counts
  }

  // MARK: The export, which blocks as the real one does

  private func export(_ session: SenderSessionParts, _ order: Engine.ExportOrder) {
    let worker = begin("export", of: session.number)
    session.export = worker
    session.accept = order.accept
    session.window = SendWindow(frames: ground.windowFrames, of: Ground.frameCapacity)
    let identity = identities[order.accept.transfer] ?? paired
    identities[order.accept.transfer] = identity
    onDisk(after: world.dice.roll(1...3_000)) { [self] in
      if lacksThread { return exported(session, worker, .failure(Fault(.device, "no thread"))) }
      ground.rememberAtSender(order.accept.transfer, identity)
      session.isExportQueued = true
      ground.exports.append { [self] in
        guard isAlive, session.isExportQueued else { return }
        session.isExportQueued = false
        runExport(session, worker, order.accept)
      }
      worker.whenTold = { [self] in
        guard session.isExportQueued else { return }
        session.isExportQueued = false
        exported(session, worker, .failure(Fault(.device, "the session is over")))
      }
      if worker.mustEnd { worker.whenTold?() }
    }
  }

  private func runExport(_ session: SenderSessionParts, _ worker: Worker, _ accept: Accept) {
    session.exportStart = world.now
    if world.dice.one(in: 8) { feed(.withholding(session.number, clause: "it holds no symbolic links")) }
    let outlet = SimulatedOutlet(self, session)
    let packer = FramePacker(
      outlet: outlet, sealer: HashSealer(accept.keys), keys: accept.keys, held: session.held, sizes: Ground.sizes)
    ground.watchReading(of: accept)
    defer { ground.source.reader = nil }
    do {
      var export = FolderExport(roots: roots, tree: tree, packer: packer)
      try export.run()
      try packer.drain()
    } catch {
      return exported(session, worker, .failure(Fault(error)))
    }
    world.note("exported \(packer.finish.total), \(packer.staleMarks.count) stale, \(outlet.unsentCount) unsent")
    ground.exported(packer.finish, unsent: outlet.unsentCount, listed: listed, start: session.exportStart)
    exported(session, worker, .success(Engine.Exported(finish: packer.finish, stale: packer.staleMarks)))
  }

  private func exported(_ session: SenderSessionParts, _ worker: Worker, _ result: Result<Engine.Exported, Fault>) {
    end(worker) { [self] in feed(.exported(session.number, result)) }
  }

  /// A frame is packed: the stream that waits for one takes it.
  func submit(_ frame: FrameBuffer, _ session: SenderSessionParts) { wake(session, [session.window?.submit(frame)]) }

  /// What FINISH leaves out is written down.
  private func noteFinish(_ number: SessionNumber, _ transfer: TransferID, _ finish: Finish) {
    let worker = begin("note", of: number)
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      let fault = lacksThread ? Fault(.device, "no thread") : nil
      if fault == nil { ground.changeEntry(transfer) { $0.unsent = finish.unsent } }
      end(worker) { [self] in feed(.finishNoted(number, transfer, fault)) }
    }
  }

  // MARK: Streams

  private func openStream(_ session: SenderSessionParts, _ join: Join, _ attempts: Int) {
    world.check(session.window != nil && !session.isStopped, "a stream is opened for a session that is over")
    let worker = begin("stream", of: session.number)
    let stream = OutgoingWorker(self, session, join, worker, attempts: attempts)
    session.streams.append(stream)
    if lacksThread { stream.over(.failed(Fault(.device, "no thread"))) } else { stream.begin() }
  }
}

/// The export's way out: it waits by letting the world go on.
final class SimulatedOutlet: FrameOutlet, @unchecked Sendable {
  // Unchecked: a simulation has one thread.
  private let sender: SimulatedSender
  private let session: SenderSessionParts
  private(set) var unsentCount = 0

  init(_ sender: SimulatedSender, _ session: SenderSessionParts) {
    self.sender = sender
    self.session = session
  }

  func buffer() throws(ArchiveError) -> FrameBuffer {
    try wait { self.session.window?.takeBuffer() }
  }

  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    try check()
    sender.submit(frame, session)
    // Others have their turn now and then, and the disk may stand still.
    sender.ground.stepsInside(sender.world.dice.roll(0...2), beside: sender)
    let end = sender.ground.stalled[sender.role.index]
    while sender.isAlive, sender.world.now < end, sender.ground.stepInside() {}
  }

  func drain() throws(ArchiveError) {
    _ = try wait { self.session.window?.isDrained ?? true ? true : nil }
  }

  func pause(seconds: Double) throws(ArchiveError) {
    let end = sender.world.now + Int(max(0, seconds) * 1_000_000) + 1
    sender.world.after(end - sender.world.now) {}
    _ = try wait { self.sender.world.now >= end ? true : nil }
  }

  var isStopped: Bool { session.isStopped || !sender.isAlive }
  let stopSignal = StopSignal()

  func unsent(_ unsent: Unsent) throws(ArchiveError) {
    unsentCount += 1
    sender.feed(.unsent(session.number, unsent))
  }

  func refuses(_ mark: Mark) -> Bool { session.refused.contains(mark) }

  func skipped(items: UInt64, bytes: UInt64) { session.window?.skip(items: items, bytes: bytes) }

  private func check() throws(ArchiveError) {
    if isStopped { throw ArchiveError(.stopped, "the session is over") }
  }

  private func wait<Value>(_ body: () -> Value?) throws(ArchiveError) -> Value {
    while true {
      try check()
      let isAsleep = sender.ground.asleep[sender.role.index] > sender.world.now
      if !isAsleep, let value = body() { return value }
      guard sender.ground.stepInside() else {
        sender.world.fail("nothing happens any more")
        throw ArchiveError(.stopped, "the world stands still")
      }
    }
  }
}
