import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Recovers the transfers of earlier runs at the destination.
struct RecoveryWorker: Sendable {
  let setup: ReceiverSetup
  /// Newest first.
  var entries: [FoundTransferRecord] = []

  func run() throws -> ReceiverPerformer.WorkerReport {
    var known: [ReceiverEngine.EarlierTransfer] = []
    var transfers: [IncomingTransferContext] = []
    for one in entries {
      // A record that this process does not hold counts as a released one.
      let unseen = describe(one.remembered, held: one.remembered.held, isHeld: false)
      guard let entry = one.entry else {
        known.append(unseen)
        continue
      }
      let transfer = IncomingTransferContext(one.remembered.transfer, entry: entry)
      do {
        known.append(try recover(transfer, one.remembered))
        transfers.append(transfer)
      } catch {
        guard setup.options.keeps else { throw error }
        // It is tried again when its sender comes, and hinders no other transfer.
        let identifier = one.remembered.transfer.hexadecimal.prefix(8)
        setup.notice("the transfer \(identifier) cannot be taken back: \(Failure(error).message)")
        known.append(unseen)
      }
    }
    return Report(.tookBack(.success(known)), bringing: .transfers(transfers))
  }

  /// Recovers one transfer that this run has released.
  func retake(_ identifier: TransferID) throws -> ReceiverPerformer.WorkerReport {
    guard let entry = try setup.store?.open(identifier, role: .receiver) else {
      return Report(.retook(identifier, .success(nil)))
    }
    let transfer = IncomingTransferContext(identifier, entry: entry)
    let known = try recover(transfer, entry.remembered)
    return Report(.retook(identifier, .success(known)), bringing: .transfers([transfer]))
  }

  private func recover(
    _ transfer: IncomingTransferContext, _ remembered: TransferRecord
  ) throws -> ReceiverEngine.EarlierTransfer {
    for (number, part) in remembered.parts.enumerated() where part.finished != nil {
      // An earlier run was removing the staging directory. This removes the rest.
      do {
        if let keys = part.begun?.keys {
          let place = try part.begun?.elsewhere ?? setup.importers.area.place()
          _ = try StagingArea.discard(
            transfer.identifier.ofPart(UInt16(number)), keys, from: place, isFinished: true)
        }
      } catch {
        guard setup.options.keeps else { throw error }
        // All of it is imported: the rest is rubbish.
        setup.notice("\(error)")
      }
    }
    let newest = remembered.newest
    guard remembered.parts[Int(newest)].finished == nil, let offer = remembered.offer(ofPart: newest),
      let keys = remembered.parts[Int(newest)].begun?.keys
    else { return describe(remembered) }
    let importer: any Importer
    do {
      importer = try setup.importers.within(transfer.folder).importer(of: remembered.plan.parts[Int(newest)])
    } catch {
      // It is tried again when the part is offered; the other parts do not need it.
      return describe(remembered, hasMore: true)
    }
    guard let staging = try recoverIfTrusted(transfer.identifier.ofPart(newest), offer, keys, by: importer) else {
      return describe(remembered)
    }
    try setup.keep(staging, importer, newest, of: transfer)
    if let former = staging.formerExisting {
      setup.notice(
        "the transfer began with --existing \(former.name) and resumes with --existing \(staging.existing.name)"
      )
    }
    switch staging.stage {
    case .receiving:
      var refusals: [NotStored] = []
      transfer.tellRefusals(of: staging) { refusals = $0 }
      return describe(remembered, held: staging.held, refusals: refusals)
    // Its refusals are told by the worker of the import.
    case .concluded(let total), .imported(let total):
      return describe(remembered, held: staging.held, concluded: total)
    }
  }

  private func describe(
    _ remembered: TransferRecord, held: Tally = Tally(), refusals: [NotStored] = [], concluded: Tally? = nil,
    isHeld: Bool = true, hasMore: Bool = false
  ) -> ReceiverEngine.EarlierTransfer {
    ReceiverEngine.EarlierTransfer(
      identifier: remembered.transfer, client: remembered.peer,
      host: try? HostAndPort.parse(remembered.address, defaultPort: 0).host, plan: remembered.plan,
      parts: remembered.parts, part: remembered.newest, held: held, refusals: refusals, concluded: concluded,
      isHeld: isHeld, hasMore: hasMore)
  }

  /// The staged items; nil if there are none, or none that can be trusted.
  func recoverIfTrusted(
    _ identifier: TransferID, _ offer: Offer, _ keys: TransferKeys, by importer: any Importer
  ) throws -> Staging? {
    do {
      return try importer.recover(offer, transfer: identifier, keys: keys)
    } catch let error as Failure where error.code == .journal {
      setup.notice("\(error); it is left as it is, and everything is sent again")
      return nil
    }
  }
}
