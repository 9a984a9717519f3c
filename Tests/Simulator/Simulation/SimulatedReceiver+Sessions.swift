import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The state that the workers of one session share at the receiver.
final class ReceiverSessionParts {
  let number: SessionNumber
  let transfer: SimulatedReceiver.Transfer
  /// The gate before the end of the archive and of the session, and the expected state of the gate,
  /// which is counted separately.
  let gate = WritingGate()
  var writing = 0
  var isClosed = false
  /// When the last frame was written, or the session was made.
  var lastWritten: Double
  /// Whether its offer was accepted.
  var isAccepted = false
  /// The session's identifier at the sender, once it is staged.
  var identifier: SessionID?
  var keys: TransferKeys?
  var streams: [IncomingWorker] = []
  var numbers: Set<UInt32> = []
  var sync: Worker?
  /// The reader of the unsent part of the ledger, and the last mark of each kind that was sent.
  var ledger: LedgerReader?
  var isLedgerBegun = false
  var lastTold: [UInt8: Mark] = [:]

  init(_ number: SessionNumber, of transfer: SimulatedReceiver.Transfer, now: Double) {
    self.number = number
    self.transfer = transfer
    lastWritten = now
  }
}

extension SimulatedReceiver {
  func performInSession(_ action: Engine.Action) {
    switch action {
    case .examine(let session, _, let offer, _): examine(session, offer)
    case .stage(let session, let order): stage(session, order)
    case .readLedger(let session): readLedger(session)
    case .dropItems(let session, let marks): drop(session, marks)
    case .serve(let id, let session, let join): serve(id, session, join)
    case .endStream(let id):
      for session in sessions.values { session.streams.first { $0.connection.id == id }?.worker.end() }
    case .sync(let session): beginSync(session)
    case .endSync(let session): sessions[session]?.sync?.end()
    case .lookForData(let number):
      let session = sessions[number]
      feed(.lookedForData(number, lastAt: session?.writing == 0 ? session?.lastWritten : nil))
    case .shutGate(let session): shutGate(session)
    case .closeGate(let session):
      sessions[session]?.gate.close()
      sessions[session]?.isClosed = true
    default: break
    }
  }

  func transfer(_ identifier: TransferID) -> Transfer {
    if let known = transfers[identifier] { return known }
    let new = Transfer(identifier)
    transfers[identifier] = new
    return new
  }

  // MARK: Offers

  private func examine(_ session: SessionNumber, _ offer: Offer) {
    let worker = begin("examine", of: session)
    let codes: [Fault.Code] = [.noSpace, .exists, .unfit, .inUse, .storage]
    var fault = lacksThread ? Fault(.device, "no thread") : nil
    if disk.isFailing, world.dice.one(in: 8), let code = world.dice.pick(codes) {
      fault = Fault(code, "it cannot be held")
    }
    onDisk(after: world.dice.roll(1...2_000)) { [self] in
      let objection = fault ?? scene.objection(to: offer)
      let result = objection.map { Result.failure($0) } ?? .success(Engine.Examination(availableBytes: nil))
      end(worker) { [self] in feed(.examined(session, result)) }
    }
  }

  private func stage(_ number: SessionNumber, _ order: Engine.StagingOrder) {
    let worker = begin("stage", of: number)
    let session = ReceiverSessionParts(number, of: transfer(order.transfer), now: world.seconds)
    sessions[number] = session
    onDisk(after: world.dice.roll(1...2_000)) { [self] in
      let result: Result<Engine.Admitted, Fault>
      do {
        if lacksThread { throw Fault(.device, "no thread") }
        result = .success(try stage(session, order))
      } catch {
        guard isAlive else { return }
        result = .failure(Fault(error))
      }
      end(worker) { [self] in feed(.staged(number, result)) }
    }
  }

  private func stage(_ session: ReceiverSessionParts, _ order: Engine.StagingOrder) throws -> Engine.Admitted {
    let transfer = session.transfer
    checkRest(before: session, "an offer is staged while an older session writes")
    let store = scene.remember(order)
    if transfer.staging == nil {
      let area = disk.area(of: order.transfer) ?? disk.makeArea(of: order.transfer)
      transfer.staging = try Staging(
        on: area, for: order.offer, transfer: order.transfer, keys: store.keys, existing: scene.existingItems.existing)
    }
    guard let staging = transfer.staging else { preconditionFailure("it was just made") }
    transfer.dropped = []
    staging.beginSession(order.offer, mayRefuse: order.offer.mayBeRefused)
    session.identifier = world.dice.identifier()
    session.keys = store.keys
    let present = scene.existingItems.marks(store.keys)
    session.ledger = LedgerReader(
      staging, present: PresentItems(present: present.present, taken: present.taken),
      partLength: world.dice.roll(100...600))
    return Engine.Admitted(
      session: session.identifier ?? 0, keys: store.keys, traits: staging.abilities.traits, held: staging.held)
  }

  /// Once a newer session of its transfer is accepted, nothing is done for an older one.
  func checkNewest(_ session: ReceiverSessionParts, _ what: @autoclosure () -> String) {
    world.check(
      !sessions.values.contains { $0.transfer === session.transfer && $0.number > session.number && $0.isAccepted },
      "\(what()) of an older session, although a newer one is accepted")
  }

  /// No older session of a transfer still writes.
  func checkRest(before session: ReceiverSessionParts, _ what: @autoclosure () -> String) {
    for older in sessions.values where older !== session && older.transfer === session.transfer {
      world.check(older.writing == 0 && older.streams.allSatisfy { $0.worker.hasEnded }, what())
      world.check(older.sync?.hasEnded ?? true, what())
    }
  }

  private func readLedger(_ number: SessionNumber) {
    let worker = begin("ledger", of: number)
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      guard let session = sessions[number], let staging = session.transfer.staging, let keys = session.keys else {
        return world.fail("a ledger of a session that was not staged")
      }
      if !session.isLedgerBegun {
        session.isLedgerBegun = true
        scene.told(session.identifier ?? 0, staging, keys)
      }
      guard let part = session.ledger?.next() else { return world.fail("a ledger of a session that was not staged") }
      for page in part.pages { checkTold(page, session) }
      end(worker) { [self] in feed(.ledger(number, .success(part))) }
    }
  }

  /// The marks of each kind are ascending.
  private func checkTold(_ page: Held, _ session: ReceiverSessionParts) {
    for mark in page.marks {
      if let last = session.lastTold[page.kind.rawValue], mark <= last { world.fail("marks are not ascending") }
      session.lastTold[page.kind.rawValue] = mark
    }
  }

  private func drop(_ number: SessionNumber, _ marks: [Mark]) {
    let worker = begin("drop", of: number)
    onDisk(after: world.dice.roll(1...500)) { [self] in
      if let session = sessions[number], let keys = session.keys {
        scene.promises(of: session.transfer.identifier).dropped(marks, keys: keys)
        session.transfer.dropped.formUnion(marks)
        if scene.mutation != .forgetDropped { session.transfer.staging?.drop(marks) }
      }
      end(worker) { [self] in feed(.dropped(number, nil)) }
    }
  }

  // MARK: Streams

  private func serve(_ id: ConnectionID, _ number: SessionNumber, _ join: Join) {
    guard let connection = connections[id], let session = sessions[number], let staging = session.transfer.staging
    else { return world.fail("a stream of nothing") }
    session.numbers.insert(join.stream)
    if let replaced = join.replaces { session.numbers.insert(replaced) }
    let worker = begin("stream", of: number)
    hands[id] = worker
    let stream = IncomingWorker(self, connection, session, staging, join, worker)
    session.streams.append(stream)
    if lacksThread { stream.leave() } else { stream.begin() }
  }

  /// Reports the refusals that the engine does not know yet.
  func tellRefusals(_ transfer: Transfer) {
    guard let staging = transfer.staging else { return }
    let new = staging.refusals(from: transfer.told)
    guard !new.isEmpty else { return }
    transfer.told += new.count
    scene.refused(new)
    feed(.refused(transfer.identifier, Array(new)))
  }

  // MARK: Syncing

  private func shutGate(_ number: SessionNumber) {
    guard let session = sessions[number] else { return world.fail("the end of an export of nothing") }
    let worker = begin("gate", of: number)
    var fault: Fault?
    do { try session.gate.shut() } catch { fault = Fault(error) }
    world.check(fault != nil || session.writing == 0, "the gate shuts while a frame is being written")
    end(worker) { [self] in feed(.gateShut(number, fault)) }
  }

  private func beginSync(_ number: SessionNumber) {
    guard let session = sessions[number], let staging = session.transfer.staging else {
      return world.fail("a sync of nothing")
    }
    let worker = begin("sync", of: number)
    session.sync = worker
    if lacksThread {
      unsynced.insert(session.transfer.identifier)
      return end(worker) { [self] in feed(.syncEnded(number, Fault(.device, "no thread"))) }
    }
    sync(session, staging, worker)
  }

  private func sync(_ session: ReceiverSessionParts, _ staging: Staging, _ worker: Worker) {
    var isOver = false
    let finish = { [self] (fault: Fault?) in
      guard !isOver else { return }
      isOver = true
      worker.whenTold = nil
      if fault != nil { unsynced.insert(session.transfer.identifier) }
      end(worker) { [self] in feed(.syncEnded(session.number, fault)) }
    }
    if worker.mustEnd { return finish(nil) }
    worker.whenTold = { finish(nil) }
    run(after: world.dice.roll(2_000...30_000)) { [self] in
      guard !isOver else { return }
      let hasNew = session.streams.contains { $0.durable < $0.machine.writtenFrames }
      guard hasNew, !isSyncing else { return sync(session, staging, worker) }
      // From here on the sync is in the disk, and ends only when the disk has done it.
      worker.whenTold = nil
      onDisk(after: 0) { [self] in
        guard !isSyncing, !isWriting else { return sync(session, staging, worker) }
        do {
          try synchronize(session, staging)
        } catch {
          return isAlive ? finish(Fault(error)) : ()
        }
        if isAlive { sync(session, staging, worker) }
      }
    }
  }

  private func synchronize(_ session: ReceiverSessionParts, _ staging: Staging) throws {
    isSyncing = true
    defer { isSyncing = false }
    let arrived = scene.sentInAll - scene.underWay
    let snapshot = session.streams.map { ($0, $0.machine.writtenFrames, $0.promised.count) }
    if disk.isFailing, world.dice.one(in: 3) { throw Fault(.storage, "the disk fails") }
    try staging.synchronize()
    scene.synced(arrived)
    for (stream, frames, count) in snapshot {
      stream.durable = max(stream.durable, frames)
      scene.promises(of: session.transfer.identifier).durable(stream.promised.prefix(count).flatMap(\.self))
      stream.promised.removeFirst(count)
      stream.acknowledge()
    }
  }

  /// During a sync, streams write, and the disk may hang in the middle of it.
  func meanwhile() {
    guard isSyncing, !isWriting else { return }
    scene.stepsInside(world.dice.roll(0...6), beside: self)
    scene.riskStall()
    scene.waitForReceiversDisk(self)
  }
}
