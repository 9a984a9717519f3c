import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Judges a plan and its parts, and makes the values of a part's session.
struct StagingWorker: Sendable {
  let setup: ReceiverSetup
  let session: SessionNumber
  let transfer: ReceivingTransfer

  /// Judges names, room and fitness of these parts by their estimates, and writes nothing.
  func weigh(_ plan: Plan, _ parts: [UInt16]) -> ReceiverPerformer.WorkerReport {
    var weighing: ReceiverEngine.Weighing = [:]
    var taken = transfer.finishedBytes
    for part in parts {
      do {
        let bytes = plan.parts[Int(part)].bytes ?? 0
        let check = try judge(plan.parts[Int(part)], part)
        try setup.importer.area.most?.besides(taken).check(total: bytes)
        taken = taken.addingClamped(bytes)
        weighing[part] = .success(
          ReceiverEngine.Examination(availableBytes: check?.availableBytes, mostBytes: check?.mostBytes))
      } catch {
        weighing[part] = .failure(Fault(error))
      }
    }
    return Report(.weighed(session, .success(weighing), session: .randomIdentifier()))
  }

  /// Nil for a part whose import may have begun: its names may be at the destination by now.
  private func judge(_ part: Part, _ number: UInt16) throws -> OfferCheck? {
    guard let offer = Offer(estimated: part) else { throw Fault(notTaken: part) }
    let remembered = transfer.entry?.remembered
    if remembered?.parts[Int(number)].isConcluded == true { return nil }
    let staging = transfer.staging(ofPart: number)
    // What is held of a part that is not the newest is seen at its offer.
    let held = transfer.begun[number] == nil ? Tally() : Tally(items: offer.items, bytes: offer.bytes)
    return try setup.importer.judge(
      offer, held: staging?.settled(of: offer) ?? held, on: terms(of: number, staging))
  }

  private func terms(of part: UInt16, _ staging: Staging?) -> TransferTerms {
    staging?.terms
      ?? setup.importer.terms(
        of: transfer.identifier.ofPart(part), keys: transfer.begun[part]?.keys ?? .random())
  }

  /// Records the plan, if it is not recorded yet. `port` is where this device listens.
  func record(_ record: ReceiverEngine.PlanRecord, port: UInt16) throws -> ReceiverPerformer.WorkerReport {
    // The previous session's memory: a transfer may have thousands of sessions.
    CurrentProcess.returnFreeMemory()
    transfer.keep(record.plan)
    let isKept = try record.keepsPairing && keep(record)
    if transfer.entry == nil, let store = setup.store {
      let now = Timestamp.coarseNow().seconds
      let plan = Plan(record.plan.parts)
      transfer.keep(
        try store.create(
          RememberedTransfer(
            transfer: transfer.identifier, role: .receiver, identity: try setup.identity.encoded(),
            peer: record.client, label: record.label, address: record.address, started: now, lastSeen: now,
            total: plan.estimate, held: Tally(),
            subject: .destination(try setup.importer.area.place(), port: port), plan: plan,
            parts: Array(repeating: RememberedTransfer.Part(), count: plan.parts.count))))
      try store.noteUse(of: record.client, as: .receiver, label: record.label, address: record.address, now: now)
    }
    return Report(.recorded(session, nil, isKept: isKept))
  }

  /// Keeps the pairing, durably. Returns false where there is no room for another one.
  private func keep(_ record: ReceiverEngine.PlanRecord) throws -> Bool {
    guard let store = setup.store else { return false }
    let now = Timestamp.coarseNow().seconds
    return try store.keep(
      KnownDevice(
        role: .receiver, identity: try setup.identity.encoded(), peer: record.client, label: record.label,
        address: record.address, since: now, lastUsed: now))
  }

  /// Judges a part's totals, makes the staging directory where there is none, and lists the existing
  /// items of the destination.
  func stage(_ order: ReceiverEngine.StagingOrder, _ streams: StreamCounts) throws -> ReceiverPerformer.WorkerReport {
    var staging = try transfer.staging(ofPart: order.part) ?? recovered(order.part)
    switch staging?.stage {
    case .concluded(let total)?, .imported(let total)?:
      if let staging { transfer.keep(staging, ofPart: order.part) }
      return admitted(order, staging, concluded: total)
    case .receiving?, nil: break
    }
    let terms = terms(of: order.part, staging)
    let most = setup.importer.area.most?.besides(transfer.finishedBytes)
    try most?.check(total: order.offer.bytes)
    let check = try setup.importer.judge(order.offer, held: staging?.settled(of: order.offer) ?? order.held, on: terms)
    if staging == nil {
      // The store knows before anything is staged, so that nothing staged is ever without an owner.
      try transfer.begin(
        order.part, transfer.begun[order.part] ?? .init(keys: terms.keys, totals: PartTotals(order.offer, order.part)))
      staging = try setup.importer.area.stage(order.offer, on: terms)
    }
    guard let staging else { preconditionFailure("a part is staged") }
    transfer.keep(staging, ofPart: order.part)
    // The engine gets them with the admission, in the place of those that it knows.
    var refusals: [Refusal] = []
    transfer.tellRefusals(of: staging) { refusals = $0 }
    let present = try setup.importer.present(order.offer, for: staging, after: check)
    staging.beginSession(
      order.offer, mayRefuse: order.offer.contents.mayBeRefused, atMost: most)
    let part = ReceivingPart(
      order.part, of: transfer, staging: staging, ledger: LedgerReader(staging, present: present), streams)
    return admitted(order, staging, part, refusals)
  }

  private func admitted(
    _ order: ReceiverEngine.StagingOrder, _ staging: Staging?, _ part: ReceivingPart? = nil,
    _ refusals: [Refusal] = [], concluded: Tally? = nil
  ) -> ReceiverPerformer.WorkerReport {
    guard let staging else { preconditionFailure("a part is staged") }
    let admitted = ReceiverEngine.Admitted(
      keys: staging.keys, traits: order.offer.contents.mayBeRefused ? staging.abilities.traits : nil,
      held: staging.held, refusals: refusals, concluded: concluded)
    return Report(
      .staged(session, .success(admitted)),
      bringing: part.map { .part(session, transfer, $0, isCompressible: order.isCompressible) })
  }

  /// What an earlier session, or run, has staged of a part that is not the newest.
  private func recovered(_ part: UInt16) throws -> Staging? {
    guard let begun = transfer.begun[part], let contents = transfer.contents(ofPart: part) else { return nil }
    let worker = RecoveryWorker(setup: setup)
    return try worker.recoverIfTrusted(transfer.identifier.ofPart(part), Offer(contents, begun.totals), begun.keys)
  }
}

extension Fault {
  /// No importer here takes such a part.
  fileprivate init(notTaken part: Part) {
    switch part.contents {
    case .unknown:
      self.init(.unknownKind, "the other device offers \(VisibleText.of(part.name)), which this one does not know")
    case .role(let role, _) where role != "home":
      self.init(
        .unknownKind,
        "the other device offers folders of the role \(VisibleText.of(role)), which this one does not know")
    case .folders, .role, .app, .files:
      self.init(
        .otherApp, "the other device offers \(VisibleText.of(part.name)), and this one does not take it",
        hint: "Send folders, or an app with an extension.")
    }
  }
}

extension PartTotals {
  fileprivate init(_ offer: Offer, _ part: UInt16) {
    self.init(
      part: part, items: offer.items, bytes: offer.bytes, allocated: offer.allocated, flags: offer.flags,
      metadata: offer.metadata)
  }
}

/// Recovers the transfers of earlier runs at the destination.
struct RecoveryWorker: Sendable {
  let setup: ReceiverSetup
  /// Newest first.
  var entries: [RememberedEntry] = []

  func run() throws -> ReceiverPerformer.WorkerReport {
    var known: [ReceiverEngine.KnownTransfer] = []
    var transfers: [ReceivingTransfer] = []
    for one in entries {
      guard let entry = one.entry else {
        known.append(describeUnseen(one.remembered))
        continue
      }
      let transfer = ReceivingTransfer(one.remembered.transfer, entry: entry)
      do {
        known.append(try recover(transfer, one.remembered))
        transfers.append(transfer)
      } catch {
        guard setup.options.keeps else { throw error }
        // It is tried again when its sender comes, and hinders no other transfer.
        let identifier = one.remembered.transfer.hexadecimal.prefix(8)
        setup.notice("the transfer \(identifier) cannot be taken back: \(Fault(error).message)")
        known.append(describeUnseen(one.remembered))
      }
    }
    return Report(.tookBack(.success(known)), bringing: .transfers(transfers))
  }

  /// Recovers one transfer that this run has released.
  func retake(_ identifier: TransferID) throws -> ReceiverPerformer.WorkerReport {
    guard let entry = try setup.store?.open(identifier, role: .receiver) else {
      return Report(.retook(identifier, .success(nil)))
    }
    let transfer = ReceivingTransfer(identifier, entry: entry)
    let known = try recover(transfer, entry.remembered)
    return Report(.retook(identifier, .success(known)), bringing: .transfers([transfer]))
  }

  private func recover(
    _ transfer: ReceivingTransfer, _ remembered: RememberedTransfer
  ) throws -> ReceiverEngine.KnownTransfer {
    for (number, part) in remembered.parts.enumerated() where part.finished != nil {
      // An earlier run was removing the staging directory. This removes the rest.
      do {
        if let keys = part.begun?.keys {
          try setup.importer.area.clear(transfer.identifier.ofPart(UInt16(number)), keys)
        }
      } catch {
        guard setup.options.keeps else { throw error }
        // All of it is imported: the rest is rubbish.
        setup.notice("\(error)")
      }
    }
    let newest = remembered.newest
    guard remembered.parts[Int(newest)].finished == nil, let offer = remembered.offer(ofPart: newest),
      let keys = remembered.parts[Int(newest)].begun?.keys,
      let staging = try recoverIfTrusted(transfer.identifier.ofPart(newest), offer, keys)
    else { return describe(remembered) }
    transfer.keep(staging, ofPart: newest)
    if let former = staging.formerExisting {
      setup.notice(
        "the transfer began with --existing \(former.name) and resumes with --existing \(staging.existing.name)"
      )
    }
    switch staging.stage {
    case .receiving:
      var refusals: [Refusal] = []
      transfer.tellRefusals(of: staging) { refusals = $0 }
      return describe(remembered, held: staging.held, refusals: refusals)
    // Its refusals are told by the worker of the import.
    case .concluded(let total), .imported(let total):
      return describe(remembered, held: staging.held, concluded: total)
    }
  }

  /// The record of a transfer that this process does not hold. It counts as a released one.
  private func describeUnseen(_ remembered: RememberedTransfer) -> ReceiverEngine.KnownTransfer {
    describe(remembered, held: remembered.held, isHeld: false)
  }

  private func describe(
    _ remembered: RememberedTransfer, held: Tally = Tally(), refusals: [Refusal] = [], concluded: Tally? = nil,
    isHeld: Bool = true
  ) -> ReceiverEngine.KnownTransfer {
    var finished: [UInt16: ReceiverEngine.KnownTransfer.Finished] = [:]
    for (number, part) in remembered.parts.enumerated() {
      finished[UInt16(number)] = part.finished.map {
        .init(done: $0.done, unsent: part.unsent, notStored: part.notStored, at: $0.at)
      }
    }
    let newest = remembered.parts[Int(remembered.newest)]
    return ReceiverEngine.KnownTransfer(
      identifier: remembered.transfer, client: remembered.peer,
      host: try? HostAndPort.parse(remembered.address, defaultPort: 0).host, plan: remembered.plan,
      finished: finished, part: remembered.newest, held: held, unsent: newest.unsent, refusals: refusals,
      withheld: newest.notStored, concluded: concluded, isHeld: isHeld)
  }

  /// The staged items; nil if there are none, or none that can be trusted.
  func recoverIfTrusted(_ identifier: TransferID, _ offer: Offer, _ keys: TransferKeys) throws -> Staging? {
    do {
      return try setup.importer.recover(offer, transfer: identifier, keys: keys)
    } catch let error as ArchiveError where error.code == .journal {
      setup.notice("\(error); it is left as it is, and everything is sent again")
      return nil
    }
  }
}
