import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Judges a plan and records it; at the offer of a part, judges the part and makes its staging.
struct PlanWorker: Sendable {
  let setup: ReceiverSetup
  let session: SessionNumber
  let transfer: IncomingTransferContext

  /// Judges names, room and fitness of these parts by their estimates, in order. Writes nothing.
  func judgePlan(
    _ plan: Plan, _ parts: [UInt16], from client: KeyFingerprint
  ) throws -> ReceiverPerformer.WorkerReport {
    let importers = setup.importers.within(
      try transfer.folder { () throws(Failure) in try setup.importers.folder(for: client) })
    var judgement: ReceiverEngine.PlanJudgement = [:]
    var taken = transfer.finishedBytes
    var rooms: [UInt64: Tally] = [:]
    // Items of a part that is done may still be named.
    for (number, part) in plan.parts.enumerated() {
      transfer.keep(importers.places(of: part), ofPart: UInt16(number))
    }
    for number in parts {
      do {
        let part = plan.parts[Int(number)]
        var examination = try examine(part, number, by: importers, besides: &rooms)
        examination.arrival?.removed = try removed(of: part, from: client, by: importers)
        try setup.importers.area.most?.besides(taken).check(total: part.bytes ?? 0)
        taken = taken.addingClamped(part.bytes ?? 0)
        judgement[number] = .success(examination)
      } catch {
        judgement[number] = .failure(Failure(error))
      }
    }
    return Report(
      .planJudged(session, .success(judgement), session: .randomIdentifier(), consent: try consent(of: client)))
  }

  /// The arrived items that are gone from each root; none if no person can be asked about them.
  private func removed(
    of part: Part, from client: KeyFingerprint, by importers: any Importers
  ) throws -> [RemovedArrivals] {
    guard setup.helpers.consent != nil, setup.options.removals == .unsettled, setup.options.knownDevices != .kept,
      transfer.consent == nil,
      let arrived = try setup.store?.arrivedItems(from: client, part, at: try setup.importers.area.place())
    else { return [] }
    return try arrived.unsettled(in: importers.area, at: importers.places(of: part))
  }

  /// The answers of a person about this transfer; before these, the answers about the device's
  /// earlier transfers to this place.
  private func consent(of client: KeyFingerprint) throws -> Consent {
    if let known = transfer.consent { return known }
    return try setup.store?.consent(of: client, at: try setup.importers.area.place()) ?? Consent()
  }

  /// Examines a part. `rooms` has what the parts before it need on each file system.
  private func examine(
    _ part: Part, _ number: UInt16, by importers: any Importers, besides rooms: inout [UInt64: Tally]
  ) throws -> ReceiverEngine.Examination {
    // The import of a part that is concluded may have begun: its names may be at the destination by
    // now.
    let stage = transfer.staged(ofPart: number)?.staging.stage
    if stage.map({ $0 != .receiving }) ?? (transfer.entry?.remembered.parts[Int(number)].isConcluded == true) {
      return ReceiverEngine.Examination(availableBytes: nil)
    }
    let arrival = importers.arrival(of: part)
    // An importer that an earlier session took holds what a judge would find in use.
    let judge: any PartJudge = try transfer.staged(ofPart: number)?.importer ?? importers.judge(of: part)
    guard let offer = Offer(estimated: part) else { throw Failure(notTaken: part) }
    let refused = try judge.unplaceable(offer.contents.roots).map { root, reason in
      ReceiverEngine.RefusedRoot(root: UInt32(root), fault: Failure(reason))
    }
    transfer.refuse(refused.count, ofPart: number)
    let (staging, begun) = (transfer.staged(ofPart: number)?.staging, transfer.begun[number])
    let terms = staging?.terms ?? judge.terms(of: transfer.identifier.ofPart(number), keys: begun?.keys ?? .random())
    guard begun == nil else {
      // The held data of a part that is not the newest is counted at its offer.
      let held = staging?.settled(of: offer) ?? Tally(items: offer.items, bytes: offer.bytes)
      return ReceiverEngine.Examination(try judge.judge(offer, held: held, on: terms), without: refused, arrival)
    }
    let room = judge.device.flatMap { rooms[$0] } ?? Tally()
    // The reservations of other transfers count at its offer.
    let check = try judge.judge(offer.besides(room), held: Tally(), on: terms)
    if let device = judge.device {
      rooms[device] = room.adding(Tally(items: offer.items, bytes: offer.allocated))
    }
    return ReceiverEngine.Examination(check, without: refused, arrival)
  }

  /// Records the plan, if it is not recorded yet. `port` is where this device listens.
  func record(_ record: ReceiverEngine.PlanRecord, port: UInt16) throws -> ReceiverPerformer.WorkerReport {
    // The previous session's memory: a transfer may have thousands of sessions.
    CurrentProcess.returnFreeMemory()
    transfer.keep(record.plan)
    transfer.keep(record.consent)
    let isKept = try setup.store.map { store in
      try store.changingDevices(orMake: record.keepsPairing) {
        let isKept = try self.record(record, port, in: store)
        try store.keep(record.consent, of: record.client, at: try setup.importers.area.place())
        return isKept
      }
    }
    if let entry = transfer.entry, entry.remembered.consent != record.consent {
      try entry.update { $0.consent = record.consent }
    }
    return Report(.recorded(session, nil, isKept: isKept ?? false))
  }

  /// Returns whether the pairing is kept. Only the plan's first session can keep it: a device that was
  /// forgotten since does not come back.
  private func record(
    _ record: ReceiverEngine.PlanRecord, _ port: UInt16, in store: TransferStore
  ) throws -> Bool {
    let isKnown = store.device(record.client, as: .receiver) != nil
    if let entry = transfer.entry {
      if entry.isForgotten { throw Failure.forgotten }
      return record.keepsPairing && isKnown
    }
    // It was known in this run, when it connected or from its pairing on. A transfer that it has begun is not
    // recorded before its plan.
    if record.isOfDevice || setup.known.contains(record.client), !isKnown { throw Failure.forgotten }
    let now = Timestamp.coarseNow().seconds
    let isKept =
      try record.keepsPairing && (isKnown || !setup.options.knownDevices.areExpected) && keep(record, now, in: store)
    let plan = record.plan.recorded
    transfer.keep(
      try store.create(
        TransferRecord(
          transfer: transfer.identifier, role: .receiver, identity: try setup.identity.encoded(),
          peer: record.client, label: record.label, address: record.address, started: now, lastSeen: now,
          total: plan.estimate, held: Tally(),
          subject: .destination(try setup.importers.area.place(), port: port), plan: plan,
          parts: plan.parts.map { _ in PartRecord() },
          meeting: setup.meetings.secret(of: record.client), consent: record.consent)))
    if !isKept { try store.unexpect(record.client, as: .receiver) }
    try store.noteUse(of: record.client, as: .receiver, label: record.label, address: record.address, now: now)
    return isKept
  }

  /// Keeps the pairing, durably. Returns false if there is no room for another known device.
  private func keep(
    _ record: ReceiverEngine.PlanRecord, _ now: Int64, in store: TransferStore
  ) throws -> Bool {
    try store.keep(
      KnownDevice(
        role: .receiver, identity: try setup.identity.encoded(), peer: record.client, label: record.label,
        address: record.address, since: now, lastUsed: now,
        until: setup.options.knownDevices.end(now: now), meeting: setup.meetings.secret(of: record.client)))
  }

  /// Judges a part's totals, makes the staging directory where there is none, and lists the existing
  /// items of the destination.
  func stage(_ order: ReceiverEngine.StagingOrder, _ streams: StreamCounts) throws -> ReceiverPerformer.WorkerReport {
    if transfer.entry?.isForgotten == true { throw Failure.forgotten }
    transfer.traffic.begin(order.part)
    let known = transfer.staged(ofPart: order.part)
    guard let wanted = transfer.part(order.part) else { preconditionFailure("a part is offered of a recorded plan") }
    let importers = setup.importers.within(transfer.folder)
    // The destination may have changed since the plan was judged.
    if known == nil, transfer.begun[order.part] == nil { _ = try importers.judge(of: wanted) }
    let importer = try known?.importer ?? importers.importer(of: wanted)
    var staging = try known?.staging ?? recovered(order.part, by: importer)
    switch staging?.stage {
    case .concluded(let total)?, .imported(let total)?:
      if let staging { try setup.keep(staging, importer, order.part, of: transfer) }
      return admitted(order, staging, concluded: total)
    case .receiving?, nil: break
    }
    // A part that was not judged again brings no more than files.
    let taken = order.taken ?? .files
    let (permit, roots) = (importers.permit(for: wanted, taking: taken), Staging.roots(of: order.offer))
    try staging?.take(only: permit, of: roots)
    let terms =
      staging?.terms
      ?? importer.terms(
        of: transfer.identifier.ofPart(order.part), keys: transfer.begun[order.part]?.keys ?? .random())
    let most = setup.importers.area.most?.besides(transfer.finishedBytes)
    try most?.check(total: order.offer.bytes)
    let held = staging?.settled(of: order.offer) ?? (transfer.begun[order.part] == nil ? Tally() : order.held)
    _ = try setup.reservedRoom.reserve(
      order.offer, of: transfer, hasBegun: staging != nil, terms.existing
    ) { (others) throws(Failure) in
      // What is held needs no more room.
      let isHeld = held.items >= order.offer.items && held.bytes >= order.offer.bytes
      return try importer.judge(order.offer.besides(isHeld ? Tally() : others), held: held, on: terms)
    }
    var begun =
      try transfer.begun[order.part]
      ?? IncomingTransferContext.Begun(
        keys: terms.keys, totals: PartTotals(order.offer, order.part), elsewhere: elsewhere(importer),
        folder: transfer.folder)
    let isOther = begun.taken != taken
    begun.taken = taken
    if staging == nil {
      if let folder = begun.folder {
        setup.notice("what arrives goes into \(VisibleText.quoted(folder))", about: transfer.identifier)
      }
      // The store knows before anything is staged, so that nothing staged is ever without an owner.
      try transfer.begin(order.part, begun)
      staging = try importer.area.stage(order.offer, on: terms)
    } else if isOther {
      try transfer.begin(order.part, begun)
    }
    guard let staging else { preconditionFailure("a part is staged") }
    try staging.take(only: permit, of: roots)
    try setup.keep(staging, importer, order.part, of: transfer)
    // The engine gets them with the admission, in the place of those that it knows.
    var refusals: [NotStored] = []
    transfer.tellRefusals(of: staging) { refusals = $0 }
    let present = try importer.present(order.offer, for: staging, takesBases: order.takesBases)
    setup.reservedRoom.release(present.tally, of: transfer)
    staging.beginSession(
      order.offer, mayRefuse: order.offer.contents.mayBeRefused, atMost: most)
    let part = IncomingPartContext(
      of: transfer, staging: staging,
      ledger: LedgerReader(staging, present: present, room: Limits.ledgerRoom(items: order.offer.items)), streams)
    return admitted(order, staging, part, refusals)
  }

  /// The directory where a part is staged, if it is not the transfer's destination.
  private func elsewhere(_ importer: any Importer) throws -> [UInt8]? {
    if importer.area === setup.importers.area { return nil }
    return try importer.area.place()
  }

  private func admitted(
    _ order: ReceiverEngine.StagingOrder, _ staging: Staging?, _ part: IncomingPartContext? = nil,
    _ refusals: [NotStored] = [], concluded: Tally? = nil
  ) -> ReceiverPerformer.WorkerReport {
    guard let staging else { preconditionFailure("a part is staged") }
    // An app's items cannot be refused.
    let accept = Accept(
      keys: staging.keys, traits: order.offer.contents.mayBeRefused ? staging.abilities.traits : nil,
      flags: staging.arrivals?.isEmpty == false ? .namesAbsent : [])
    return Report(
      .staged(session, .success(.init(accept, held: staging.held, refusals: refusals, concluded: concluded))),
      bringing: part.map { .part(session, transfer, $0, isCompressible: order.isCompressible) })
  }

  /// The staging that an earlier session or run has left of a part that is not the newest.
  private func recovered(_ part: UInt16, by importer: any Importer) throws -> Staging? {
    guard let begun = transfer.begun[part], let contents = transfer.part(part)?.offered else { return nil }
    let worker = RecoveryWorker(setup: setup)
    return try worker.recoverIfTrusted(
      transfer.identifier.ofPart(part), Offer(contents, begun.totals), begun.keys, by: importer)
  }
}

extension ReceiverEngine.Examination {
  fileprivate init(_ check: OfferCheck, without refused: [ReceiverEngine.RefusedRoot], _ arrival: PartArrival) {
    self.init(availableBytes: check.availableBytes, mostBytes: check.mostBytes, without: refused, arrival: arrival)
  }
}

extension Offer {
  /// The same offer where other parts need room too.
  fileprivate func besides(_ others: Tally) -> Offer {
    Offer(
      contents: contents, items: items.addingClamped(others.items), bytes: bytes,
      allocated: min(Limits.fileSize, allocated.addingClamped(others.bytes)), flags: flags)
  }
}

extension PartTotals {
  fileprivate init(_ offer: Offer, _ part: UInt16) {
    self.init(
      part: part, items: offer.items, bytes: offer.bytes, allocated: offer.allocated, flags: offer.flags)
  }
}
