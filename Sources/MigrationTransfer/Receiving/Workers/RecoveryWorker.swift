import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Takes back what earlier runs left at the destination.
struct RecoveryWorker: Sendable {
  let setup: ReceiverSetup
  /// Newest first.
  var entries: [RememberedEntry] = []

  func run() throws -> WorkerReport {
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
        // It is tried again when its sender comes, and keeps no other one away.
        let identifier = one.remembered.transfer.hexadecimal.prefix(8)
        setup.notice("the transfer \(identifier) cannot be taken back: \(Fault(error).message)")
        known.append(describeUnseen(one.remembered))
      }
    }
    return WorkerReport(.tookBack(.success(known)), bringing: .transfers(transfers))
  }

  /// Takes one transfer back that this run has let go.
  func retake(_ identifier: TransferID) throws -> WorkerReport {
    guard let entry = try setup.store?.open(identifier, role: .receiver) else {
      return WorkerReport(.retook(identifier, .success(nil)))
    }
    let transfer = ReceivingTransfer(identifier, entry: entry)
    let known = try recover(transfer, entry.remembered)
    return WorkerReport(.retook(identifier, .success(known)), bringing: .transfers([transfer]))
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
        destination.offer, transfer: identifier, keys: destination.keys, sealer: try ChunkSealer(destination.keys))
    } catch let error as ArchiveError where error.code == .journal {
      setup.notice("\(error); it is left as it is, and everything is sent again")
      return nil
    }
  }
}
