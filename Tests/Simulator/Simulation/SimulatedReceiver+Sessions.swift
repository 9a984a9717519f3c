import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The state that the workers of one part share during one session at the receiver.
final class ReceiverPartParts {
  let number: UInt16
  let staging: Staging
  /// The gate between ledger, data and the end of the archive, and the expected state of the gate,
  /// which is counted separately.
  let gate = WritingGate()
  var writing = 0
  var hasFailed = false
  /// When the last frame was written, or the part began.
  var lastWritten: Double
  var sync: Worker?
  /// The reader of the unsent part of the ledger, and the last mark of each kind that was sent.
  var ledger: LedgerReader
  var isLedgerBegun = false
  var lastTold: [UInt8: Mark] = [:]

  init(_ number: UInt16, _ staging: Staging, _ ledger: LedgerReader, now: Double) {
    self.number = number
    self.staging = staging
    self.ledger = ledger
    lastWritten = now
  }
}

/// The state that the workers of one session share at the receiver.
final class ReceiverSessionParts {
  let number: SessionNumber
  let transfer: SimulatedReceiver.Transfer
  let identifier: SessionID
  /// The newest part.
  var part: ReceiverPartParts?
  var isClosed = false
  /// Whether one of its offers was accepted.
  var isAccepted = false
  var streams: [IncomingWorker] = []
  var numbers: Set<UInt32> = []

  init(_ number: SessionNumber, of transfer: SimulatedReceiver.Transfer, identifier: SessionID) {
    self.number = number
    self.transfer = transfer
    self.identifier = identifier
  }
}

extension SimulatedReceiver {
  func performInSession(_ action: Engine.Action) {
    switch action {
    case .weigh(let session, let transfer, let plan, let parts, _): weigh(session, transfer, plan, parts)
    case .record(let session, let record): self.record(session, record)
    case .stage(let session, let order): stage(session, order)
    case .readLedger(let session): readLedger(session)
    case .dropItems(let session, let marks): drop(session, marks)
    case .serve(let id, let session, let join): serve(id, session, join)
    case .endStream(let id):
      for session in sessions.values { session.streams.first { $0.connection.id == id }?.worker.end() }
    case .dial(let session, _, _): dial(session)
    case .endDial(let session): dials[session]?.end()
    case .sync(let session): beginSync(session)
    case .endSync(let session): sessions[session]?.part?.sync?.end()
    case .lookForData(let number):
      let part = sessions[number]?.part
      let moment = part?.writing == 0 ? part?.lastWritten : nil
      feed(.lookedForData(number, lastAt: moment, held: part?.staging.held ?? Tally()))
    case .shutGate(let session): shutGate(session)
    case .openGate(let session): sessions[session]?.part?.gate.open()
    case .discardData(let session): sessions[session]?.part?.gate.discard()
    case .closeGate(let session):
      sessions[session]?.part?.gate.close()
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

  // MARK: Plans and offers

  private func weigh(_ number: SessionNumber, _ transfer: TransferID, _ plan: Plan, _ parts: [UInt16]) {
    let worker = begin("weigh", of: number)
    let session = ReceiverSessionParts(number, of: self.transfer(transfer), identifier: world.dice.identifier())
    sessions[number] = session
    let fault = lacksThread ? Fault(.device, "no thread") : nil
    onDisk(after: world.dice.roll(1...2_000)) { [self] in
      var weighing: Engine.Weighing = [:]
      for part in parts {
        // The names of a part whose import may have begun may be at the destination by now.
        let isConcluded = scene.store(of: transfer)?.parts[Int(part)].isConcluded == true
        let objection =
          scene.refusal(ofPart: part) ?? objection() ?? (isConcluded ? nil : scene.objection(toPart: part))
        weighing[part] = objection.map { .failure($0) } ?? .success(Engine.Examination(availableBytes: nil))
      }
      let result: Result<Engine.Weighing, Fault> = fault.map { .failure($0) } ?? .success(weighing)
      end(worker) { [self] in feed(.weighed(number, result, session: session.identifier)) }
    }
  }

  /// Now and then a part cannot be taken or staged, mostly while the disk fails.
  private func objection() -> Fault? {
    if world.dice.one(in: 2), scene.strikes(.room) { return Fault(.noSpace, "there is no room") }
    let codes: [Fault.Code] = [.noSpace, .exists, .unfit, .storage]
    guard disk.isFailing, world.dice.one(in: 8), let code = world.dice.pick(codes) else { return nil }
    return Fault(code, "it cannot be held")
  }

  private func record(_ number: SessionNumber, _ record: Engine.PlanRecord) {
    let worker = begin("record", of: number)
    onDisk(after: world.dice.roll(1...2_000)) { [self] in
      let fault = lacksThread ? Fault(.device, "no thread") : nil
      if fault == nil {
        scene.remember(record)
        if record.keepsPairing { scene.keptAtReceiver.insert(record.client) }
      }
      end(worker) { [self] in feed(.recorded(number, fault, isKept: fault == nil && record.keepsPairing)) }
    }
  }

  private func stage(_ number: SessionNumber, _ order: Engine.StagingOrder) {
    guard let session = sessions[number] else { return world.fail("an offer without a plan") }
    let worker = begin("stage", of: number)
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
    var staging = try transfer.staging(ofPart: order.part) ?? recover(order.transfer, order.part)
    switch staging?.stage {
    case .concluded(let total)?, .imported(let total)?: return admitted(order, staging, concluded: total)
    case .receiving?, nil: break
    }
    if let objection = objection() ?? scene.objection(toPart: order.part) { throw objection }
    if staging == nil {
      let (keys, name) = (scene.begin(order), order.transfer.ofPart(order.part))
      scene.stages(name)
      staging = try Staging(
        on: disk.area(of: name) ?? disk.makeArea(of: name), for: order.offer, transfer: name, keys: keys,
        existing: scene.existingItems.existing)
    }
    guard let staging else { preconditionFailure("it was just made") }
    transfer.dropped = []
    staging.beginSession(order.offer, mayRefuse: order.offer.contents.mayBeRefused)
    let present = scene.existingItems.marks(staging.keys)
    let ledger = LedgerReader(
      staging, present: PresentItems(present: present.present, taken: present.taken),
      room: Limits.ledgerRoom(items: order.offer.items), partLength: world.dice.roll(100...600))
    session.part = ReceiverPartParts(order.part, staging, ledger, now: world.seconds)
    return admitted(order, staging, Array(staging.refusals(from: 0)))
  }

  private func admitted(
    _ order: Engine.StagingOrder, _ staging: Staging?, _ refusals: [NotStored] = [], concluded: Tally? = nil
  ) -> Engine.Admitted {
    guard let staging else { preconditionFailure("a part is staged") }
    transfer(order.transfer).keep(staging, ofPart: order.part)
    transfer(order.transfer).told = refusals.count
    return Engine.Admitted(
      keys: staging.keys, traits: staging.abilities.traits, held: staging.held, refusals: refusals,
      concluded: concluded)
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
      world.check(older.part?.writing ?? 0 == 0 && older.streams.allSatisfy { $0.worker.hasEnded }, what())
      world.check(older.part?.sync?.hasEnded ?? true, what())
    }
  }

  /// What the sender is reached by comes from it in this world.
  private func dial(_ number: SessionNumber) {
    let worker = begin("dial", of: number)
    dials[number] = worker
    let over = { [self] in
      guard dials[number] === worker else { return }
      dials[number] = nil
      end(worker) { [self] in feed(.dialed(number)) }
    }
    worker.whenTold = over
    run(after: lacksThread ? 0 : world.dice.roll(0...5_000_000), over)
  }

  private func readLedger(_ number: SessionNumber) {
    let worker = begin("ledger", of: number)
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      guard let session = sessions[number], let part = session.part else {
        return world.fail("a ledger of a session that was not staged")
      }
      if !part.isLedgerBegun {
        part.isLedgerBegun = true
        scene.told(session.identifier, part.number, part.staging)
      }
      let next = part.ledger.next()
      for page in next.pages { checkTold(page, part) }
      end(worker) { [self] in feed(.ledger(number, .success(next))) }
    }
  }

  /// The marks of each kind are ascending.
  private func checkTold(_ page: Held, _ part: ReceiverPartParts) {
    for mark in page.marks {
      if let last = part.lastTold[page.kind.rawValue], mark <= last { world.fail("marks are not ascending") }
      part.lastTold[page.kind.rawValue] = mark
    }
  }

  private func drop(_ number: SessionNumber, _ marks: [Mark]) {
    let worker = begin("drop", of: number)
    onDisk(after: world.dice.roll(1...500)) { [self] in
      if let session = sessions[number], let staging = session.part?.staging {
        scene.promises(of: staging).dropped(marks, keys: staging.keys)
        session.transfer.dropped.formUnion(marks)
        if scene.mutation != .forgetDropped { staging.drop(marks) }
      }
      end(worker) { [self] in feed(.dropped(number, nil)) }
    }
  }

  // MARK: Streams

  private func serve(_ id: ConnectionID, _ number: SessionNumber, _ join: Join) {
    guard let connection = connections[id], let session = sessions[number], session.part != nil else {
      return world.fail("a stream of nothing")
    }
    session.numbers.insert(join.stream)
    if let replaced = join.replaces { session.numbers.insert(replaced) }
    let worker = begin("stream", of: number)
    hands[id] = worker
    let stream = IncomingWorker(self, connection, session, join, worker)
    session.streams.append(stream)
    if lacksThread { stream.leave() } else { stream.begin() }
  }

  /// Reports the refusals that the engine does not know yet.
  func tellRefusals(of staging: Staging, _ transfer: Transfer) {
    let new = staging.refusals(from: transfer.told)
    guard !new.isEmpty else { return }
    transfer.told += new.count
    scene.refused(new)
    feed(.refused(transfer.identifier, Array(new)))
  }

  // MARK: Syncing

  private func shutGate(_ number: SessionNumber) {
    guard let part = sessions[number]?.part else { return world.fail("the end of an export of nothing") }
    let worker = begin("gate", of: number)
    var fault: Fault?
    do { try part.gate.shut() } catch { fault = Fault(error) }
    world.check(fault != nil || part.writing == 0, "the gate shuts while a frame is being written")
    end(worker) { [self] in feed(.gateShut(number, fault)) }
  }

  private func beginSync(_ number: SessionNumber) {
    guard let session = sessions[number], let part = session.part else { return world.fail("a sync of nothing") }
    let worker = begin("sync", of: number)
    part.sync = worker
    if lacksThread {
      unsynced.insert(session.transfer.identifier)
      return end(worker) { [self] in feed(.syncEnded(number, Fault(.device, "no thread"))) }
    }
    sync(session, part.staging, worker)
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
      let ofPart = stream.promised.prefix(count).filter { $0.part == staging.transfer }
      scene.promises(of: staging).durable(ofPart.flatMap(\.1))
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
