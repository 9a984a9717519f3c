import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// An acceptable offer: the terms of its transfer, and the worker's findings.
struct JudgedOffer: Sendable {
  let terms: TransferTerms
  let judgement: OfferCheck
}

/// Judges an offer, and makes the values of its session.
struct StagingWorker: Sendable {
  let setup: ReceiverSetup
  let session: SessionNumber
  let transfer: ReceivingTransfer

  /// Judges names, room and fitness, and writes nothing.
  func examine(_ offer: Offer, held: Tally) throws -> ReceiverPerformer.WorkerReport {
    let staging = transfer.staging
    let terms =
      staging?.terms ?? setup.importer.terms(of: transfer.identifier, keys: transfer.keys ?? .random())
    let judgement = try setup.importer.judge(offer, held: staging?.settled(of: offer) ?? held, on: terms)
    return Report(
      .examined(session, .success(Self.examination(judgement))),
      bringing: .judgement(session, JudgedOffer(terms: terms, judgement: judgement)))
  }

  private static func examination(_ judgement: OfferCheck) -> ReceiverEngine.Examination {
    ReceiverEngine.Examination(availableBytes: judgement.availableBytes, mostBytes: judgement.mostBytes)
  }

  /// Remembers the transfer, makes the staging directory where there is none, and lists the
  /// existing items of the destination.
  ///
  /// `port` is where this device listens.
  func stage(_ order: ReceiverEngine.StagingOrder, _ judged: JudgedOffer, port: UInt16) throws
    -> ReceiverPerformer.WorkerReport
  {
    // The previous session's memory: a transfer may have thousands of sessions.
    CurrentProcess.returnFreeMemory()
    let staging = try staging(for: order, judged.terms, port: port)
    let present = try setup.importer.present(order.offer, for: staging, after: judged.judgement)
    staging.beginSession(order.offer, mayRefuse: order.offer.mayBeRefused, atMost: setup.importer.area.most)
    let made = ReceivingSession(
      session, of: transfer, staging: staging, features: order.features,
      ledger: LedgerReader(staging, present: present))
    let admitted = ReceiverEngine.Admitted(
      session: .randomIdentifier(), keys: staging.keys, traits: staging.abilities.traits, held: staging.held)
    return Report(.staged(session, .success(admitted)), bringing: .session(made))
  }

  private func staging(
    for order: ReceiverEngine.StagingOrder, _ terms: TransferTerms, port: UInt16
  ) throws -> Staging {
    if let staging = transfer.staging { return staging }
    let isKnown = transfer.keys != nil
    // The store knows before anything is staged, so that nothing staged is ever without an owner.
    try remember(order, terms.keys, port: port)
    do {
      let staging = try setup.importer.area.stage(order.offer, on: terms)
      transfer.keep(staging)
      return staging
    } catch {
      if !isKnown { transfer.forget(in: setup.store) }
      throw error
    }
  }

  /// Remembers the transfer from now on, if it is not remembered yet.
  private func remember(_ order: ReceiverEngine.StagingOrder, _ keys: TransferKeys, port: UInt16) throws {
    guard transfer.entry == nil, let store = setup.store else { return }
    let now = Timestamp.coarseNow().seconds
    let destination = RememberedTransfer.Destination(
      path: try setup.importer.area.place(), port: port, keys: keys, offer: order.offer.withoutTransfer)
    transfer.keep(
      try store.create(
        RememberedTransfer(
          transfer: transfer.identifier, role: .receiver, identity: try setup.identity.encoded(), peer: order.client,
          label: order.label, address: order.address, started: now, lastSeen: now,
          total: Tally(items: order.offer.items, bytes: order.offer.bytes), held: Tally(),
          subject: .destination(destination))))
  }
}

extension Offer {
  /// The offer as it was first made.
  fileprivate var withoutTransfer: Offer {
    Offer(
      transfer: nil, contents: contents, items: items, bytes: bytes, allocated: allocated, flags: flags,
      metadata: metadata)
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
    if let finished = remembered.done {
      // An earlier run was removing the staging directory. This removes the rest.
      do {
        if let keys = remembered.destination?.keys { try setup.importer.area.clear(transfer.identifier, keys) }
      } catch {
        guard setup.options.keeps else { throw error }
        // All is imported: the rest is rubbish.
        setup.notice("\(error)")
      }
      return describe(remembered, held: finished.done.total, isStaged: false, standing: .done(finished.done))
    }
    guard let destination = remembered.destination,
      let staging = try recoverIfTrusted(transfer.identifier, destination)
    else { return describe(remembered, held: Tally(), isStaged: false, standing: .receiving) }
    transfer.keep(staging)
    if let former = staging.formerExisting {
      setup.notice(
        "the transfer began with --existing \(former.name) and resumes with --existing \(staging.existing.name)"
      )
    }
    switch staging.stage {
    case .receiving:
      var refusals: [Refusal] = []
      transfer.tellRefusals { refusals = $0 }
      return describe(remembered, held: staging.held, refusals: refusals, standing: .receiving)
    // Its refusals are told by the worker of the import.
    case .concluded(let total), .imported(let total):
      return describe(remembered, held: staging.held, standing: .concluded(total))
    }
  }

  /// The record of a transfer that this process does not hold. It counts as a released one.
  private func describeUnseen(_ remembered: RememberedTransfer) -> ReceiverEngine.KnownTransfer {
    let standing = remembered.done.map { ReceiverEngine.KnownTransfer.Standing.done($0.done) } ?? .receiving
    return describe(remembered, held: remembered.held, isHeld: false, standing: standing)
  }

  private func describe(
    _ remembered: RememberedTransfer, held: Tally, isStaged: Bool = true, refusals: [Refusal] = [],
    isHeld: Bool = true, standing: ReceiverEngine.KnownTransfer.Standing
  ) -> ReceiverEngine.KnownTransfer {
    ReceiverEngine.KnownTransfer(
      identifier: remembered.transfer, client: remembered.peer,
      host: try? HostAndPort.parse(remembered.address, defaultPort: 0).host,
      contents: remembered.destination?.offer.contents, held: held, isStaged: isStaged, unsent: remembered.unsent,
      lastSeen: remembered.lastSeen, withheld: remembered.withheld, refusals: refusals,
      notStored: remembered.notStored, isHeld: isHeld, standing: standing)
  }

  /// The staged items; nil if there are none, or none that can be trusted.
  private func recoverIfTrusted(
    _ identifier: TransferID, _ destination: RememberedTransfer.Destination
  ) throws -> Staging? {
    do {
      return try setup.importer.recover(
        destination.offer, transfer: identifier, keys: destination.keys)
    } catch let error as ArchiveError where error.code == .journal {
      setup.notice("\(error); it is left as it is, and everything is sent again")
      return nil
    }
  }
}
