import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport

/// The state that the workers of one session share at the sender.
final class SenderSessionParts {
  let number: SessionNumber
  let identifier: SessionID
  /// The newest part.
  var order: SenderEngine.ExportOrder?
  var held = HeldItems()
  /// The items that the destination cannot hold, as far as this session knows.
  var refused: Set<Mark> = []
  var window: SendWindow?
  var streams: [OutgoingWorker] = []
  /// How many unacknowledged bytes each broken stream had, until an heir takes them over.
  var underWay: [UInt32: Int] = [:]
  /// Whether its workers are to end.
  var isStopped = false
  var exportStart = 0
  var export: Worker?
  /// The source of frames, once the export has begun.
  var source: ArchiveExport<SimulatedDirectory>?
  var listener: SimulatedListener?
  /// The reason why the export of the newest part ends before its end.
  var failure: Fault?
  /// How many items could not be sent.
  var unsentCount = 0

  init(_ number: SessionNumber, identifier: SessionID) { (self.number, self.identifier) = (number, identifier) }
}

extension SimulatedSender {
  func performInSession(_ action: Engine.Action) {
    switch action {
    case .beginLedger(let number): session(number).held = HeldItems()
    case .keepHeld(let number, let page): if scene.mutation != .ignoreLedger { session(number).held.add(page) }
    case .keepPartial(let number, let partial):
      if scene.mutation != .ignoreLedger { session(number).held.add(partial) }
    case .recordPlan(let number, let record): recordPlan(number, record)
    case .export(let number, let order): export(session(number), order)
    case .abandonExport(let number):
      session(number).window?.abandon()
      endExport(session(number), by: Fault(.device, "the part has failed"))
    case .openStream(let number, let join, let attempts, let road):
      openStream(session(number), join, attempts, road)
    case .moveFrames(let number, let from, let to):
      scene.interrupted(underWay: session(number).underWay.removeValue(forKey: from) ?? 0)
      wake(session(number), [session(number).window?.lost(from, replacedBy: to), to])
    case .retire(let number, let stream): wake(session(number), [session(number).window?.retire(stream), stream])
    case .forgetStream(let number, let stream): session(number).window?.ended(stream)
    case .refuse(let number, let mark): session(number).refused.insert(mark)
    case .finishWindow(let number):
      session(number).window?.finish()
      for stream in session(number).streams { stream.pump() }
    case .stopSession(let number): stop(session(number))
    case .noteFinish(let number, let transfer, let part, let finish): noteFinish(number, transfer, part, finish)
    case .readWindow(let number): feed(.window(number, counts(of: session(number))))
    default: break
    }
  }

  func session(_ number: SessionNumber) -> SenderSessionParts {
    if let known = sessions[number] { return known }
    let new = SenderSessionParts(number, identifier: verdict?.session ?? 0)
    sessions[number] = new
    return new
  }

  private func stop(_ session: SenderSessionParts) {
    end(session)
    session.export?.end()
    for stream in session.streams { stream.worker.end() }
  }

  /// A session has ended: another one may send its unacknowledged bytes again.
  func end(_ session: SenderSessionParts) {
    guard !session.isStopped else { return }
    session.isStopped = true
    let underWay = session.underWay.values.reduce(0, +) + session.streams.flatMap(\.underWay).reduce(0, +)
    scene.interrupted(underWay: underWay)
  }

  func wake(_ session: SenderSessionParts, _ numbers: [UInt32?]) {
    for case let number? in numbers { session.streams.first { $0.join.stream == number }?.pump() }
  }

  private func counts(of session: SenderSessionParts) -> Engine.WindowCounts {
    var counts = Engine.WindowCounts()
    guard let window = session.window else { return counts }
    counts.arrived = window.arrived
    counts.hasProgressed = window.written != Tally()
    counts.waitingFrames = session.source?.waitingFrames ?? 0
    counts.writtenLength = window.writtenLength
    counts.writtenFrames = window.writtenFrames
    for stream in session.streams {
      counts.framesOfStream[stream.join.stream] = window.writtenFrames(of: stream.join.stream)
    }
    counts.isLimited = world.dice.one(in: 10)
    return counts
  }

  // MARK: The export

  private func recordPlan(_ number: SessionNumber, _ record: Engine.PlanRecord) {
    let worker = begin("remember", of: number)
    let identity = identities[record.transfer] ?? paired
    identities[record.transfer] = identity
    onDisk(after: world.dice.roll(1...3_000)) { [self] in
      let fault = lacksThread ? Fault(.device, "no thread") : nil
      if fault == nil {
        if record.keepsPairing { scene.keptAtSender = identity }
        scene.rememberAtSender(record.transfer, identity)
      }
      end(worker) { [self] in feed(.planRecorded(number, record.transfer, fault)) }
    }
  }

  private func export(_ session: SenderSessionParts, _ order: Engine.ExportOrder) {
    let worker = begin("export", of: session.number)
    session.export = worker
    session.order = order
    var window =
      session.window
      ?? SendWindow(UInt64(scene.windowFrames * (Scene.frameCapacity + Limits.dataHeader)), of: Scene.frameCapacity)
    window.beginPart()
    session.window = window
    (session.refused, session.failure, session.unsentCount) = ([], nil, 0)
    let held = session.held
    session.held = HeldItems()
    onDisk(after: world.dice.roll(1...3_000)) { [self] in
      if lacksThread { return exported(session, .failure(Fault(.device, "no thread"))) }
      guard !worker.mustEnd else { return exported(session, .failure(Fault(.device, "the session has ended"))) }
      worker.whenTold = { [self] in exported(session, .failure(Fault(.device, "the session has ended"))) }
      serve(session, order, held)
    }
  }

  /// From here on the streams have frames to read.
  private func serve(_ session: SenderSessionParts, _ order: Engine.ExportOrder, _ held: HeldItems) {
    session.exportStart = world.now
    if world.dice.one(in: 8) { feed(.withholding(session.number, clause: "it holds no symbolic links")) }
    let listener = SimulatedListener(self, session)
    let source = ArchiveExport<SimulatedDirectory>(
      ExportSettings(
        listener: listener, keys: order.accept.keys, held: held, sizes: Scene.sizes,
        readers: world.dice.roll(1...4), now: { listener.now }
      ))
    let walk = walks[Int(order.part)]
    _ = source.add(SourceBatch(roots: walk.roots, tree: walk.tree))
    (session.source, session.listener) = (source, listener)
    if let failure = session.failure { return endExport(session, by: failure) }
    if scene.strikes(.export) {
      run(after: world.dice.roll(0...3_000)) { [self] in
        guard session.source === source else { return }
        endExport(session, by: Fault(.exportFailed, "the export fails"))
      }
    }
    wake(session, session.window?.wakeAll() ?? [])
    endExport(session)
  }

  /// The export ends before its end; what is under way is still sent.
  private func endExport(_ session: SenderSessionParts, by fault: Fault) {
    session.failure = fault
    session.listener?.stopSignal.set()
    session.source?.stop()
    guard session.source != nil else { return }
    session.source = nil
    endExport(session)
  }

  /// A stream has room for a frame, which a borrowed reader fills; false if there was nothing to
  /// fill it with.
  func fill(_ frame: FrameBuffer, for number: UInt32, of session: SenderSessionParts) -> Bool {
    guard let source = session.source, !session.isStopped else {
      wake(session, [session.window?.unfilled(frame, for: number)])
      endExport(session)
      return false
    }
    var frame = frame
    scene.watchReading(of: session)
    let filling = source.fill(&frame, written: writtenBelow(session))
    scene.source.reader = nil
    switch filling {
    case .full: wake(session, [session.window?.filled(frame)])
    case .nothing(let moment):
      wake(session, [session.window?.unfilled(frame, for: number)])
      if let moment {
        run(after: max(1, world.delay(until: moment))) { [self] in wake(session, [number]) }
      }
    }
    endExport(session)
    return filling == .full
  }

  private func writtenBelow(_ session: SenderSessionParts) -> UInt64 {
    scene.mutation == .forgetWhatIsUnderWay ? .max : session.window?.writtenBelow ?? 0
  }

  /// The export ends when everything is read and written.
  func endExport(_ session: SenderSessionParts) {
    guard session.listener != nil, session.window?.isDrained == true, !session.isStopped else { return }
    if let failure = session.failure { return exported(session, .failure(failure)) }
    guard let source = session.source, source.isRead, let order = session.order else { return }
    let result = source.result
    world.note("exported \(result.finish.total), \(result.stale.count) stale, \(session.unsentCount) unsent")
    scene.exported(
      Scene.Export(
        part: order.part, finish: result.finish, unsent: session.unsentCount, listed: listed,
        start: session.exportStart))
    exported(session, .success(result))
  }

  private func exported(_ session: SenderSessionParts, _ result: Result<ExportResult, Fault>) {
    guard let worker = session.export else { return }
    (session.export, session.source, session.listener) = (nil, nil, nil)
    end(worker) { [self] in feed(.exported(session.number, result)) }
  }

  /// The items that FINISH leaves out are recorded.
  private func noteFinish(_ number: SessionNumber, _ transfer: TransferID, _ part: UInt16, _ finish: Finish) {
    let worker = begin("note", of: number)
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      let fault = lacksThread ? Fault(.device, "no thread") : nil
      if fault == nil { scene.changeEntry(transfer) { $0.parts[Int(part)].unsent = finish.unsent } }
      end(worker) { [self] in feed(.finishNoted(number, transfer, fault)) }
    }
  }

  // MARK: Streams

  private func openStream(_ session: SenderSessionParts, _ join: Join, _ attempts: Int, _ road: Engine.Road) {
    world.check(session.window != nil && !session.isStopped, "a stream is opened for a session that has ended")
    let worker = begin("stream", of: session.number)
    let stream = OutgoingWorker(self, session, join, worker, attempts: attempts, road)
    session.streams.append(stream)
    if lacksThread { stream.over(.failed(Fault(.device, "no thread"))) } else { stream.begin() }
  }
}

/// Handles the events of an export.
///
/// Unchecked: a simulation has one thread.
final class SimulatedListener: ExportListener, @unchecked Sendable {
  // Unchecked: a simulation has one thread.
  private let sender: SimulatedSender
  private let session: SenderSessionParts
  let stopSignal = StopSignal()
  var now: Double { sender.world.seconds }

  init(_ sender: SimulatedSender, _ session: SenderSessionParts) {
    self.sender = sender
    self.session = session
  }

  func unsent(_ unsent: NotStored) {
    session.unsentCount += 1
    sender.feed(.unsent(session.number, unsent))
  }

  func refuses(_ mark: Mark) -> Bool { session.refused.contains(mark) }
  func skipped(items: UInt64, bytes: UInt64) { session.window?.skip(items: items, bytes: bytes) }
}
