import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// An acceptable offer: the settled facts of its transfer, and the worker's findings.
struct JudgedOffer: Sendable {
  let terms: TransferTerms
  let judgement: OfferCheck
}

/// Judges an offer, and makes what a session of it needs.
struct StagingWorker: Sendable {
  let setup: ReceiverSetup
  let session: SessionNumber
  let transfer: ReceivingTransfer

  /// Judges names, room and fitness, and writes nothing.
  func examine(_ offer: Offer, held: Tally) throws -> WorkerReport {
    let staging = transfer.staging
    let terms =
      staging?.terms ?? setup.importer.terms(of: transfer.identifier, keys: transfer.keys ?? .random())
    let judgement = try setup.importer.judge(offer, held: staging?.settled(of: offer) ?? held, on: terms)
    return WorkerReport(
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
  func stage(_ order: ReceiverEngine.StagingOrder, _ judged: JudgedOffer, port: UInt16) throws -> WorkerReport {
    // That of the session before: a transfer may have thousands.
    CurrentProcess.returnFreeMemory()
    let staging = try staging(for: order, judged.terms, port: port)
    let present = try setup.importer.present(order.offer, for: staging, after: judged.judgement)
    staging.beginSession(
      order.offer, mayRefuse: order.features.contains(.refusals), atMost: setup.importer.area.most)
    let made = ReceivingSession(
      session, of: transfer, staging: staging, features: order.features,
      ledger: LedgerReader(staging, present: present, tellsTaken: order.tellsTaken))
    let admitted = ReceiverEngine.Admitted(
      session: .randomIdentifier(), keys: staging.keys, traits: staging.abilities.traits, held: staging.held)
    return WorkerReport(.staged(session, .success(admitted)), bringing: .session(made))
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
