import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The actions of transfers.
extension ReceiverLoop {
  /// The values that the workers of a transfer share; new ones for a new transfer.
  mutating func transfer(_ identifier: TransferID) -> ReceivingTransfer {
    if let known = transfers[identifier] { return known }
    let new = ReceivingTransfer(identifier)
    transfers[identifier] = new
    return new
  }

  mutating func importItems(
    _ identifier: TransferID, _ finish: (SessionNumber, Finish)?, _ withheld: [Refusal]
  ) {
    let conclusion = finish.flatMap { number, finish in
      session(number).map { ImportWorker.Conclusion(session: $0, finish: finish) }
    }
    let worker = ImportWorker(
      setup: setup, transfer: transfer(identifier), conclusion: conclusion, withheld: withheld)
    start("import") {
      worker.run()
    } failing: {
      .imported(identifier, .failure($0), Traffic(), refused: [])
    }
  }

  /// Records the progress of a transfer, for the list of unfinished transfers.
  mutating func note(_ identifier: TransferID) {
    tend(identifier) { transfer, _ in transfer.noteProgress() }
  }

  /// The sender knows that all is done.
  mutating func forget(_ identifier: TransferID) {
    tend(identifier) { transfer, setup in
      transfer.forget(in: setup.store)
      if setup.options.keeps { CurrentProcess.returnFreeMemory() }
    }
    transfers[identifier] = nil
  }

  /// Gives up an empty transfer.
  mutating func discard(_ identifier: TransferID) {
    // A released transfer may be on a disk that stands still, so the worker releases it.
    sessions = sessions.filter { $0.value.transfer.identifier != identifier }
    tend(identifier) { transfer, setup in
      if let staging = transfer.staging {
        try? staging.remove()
      } else if let keys = transfer.keys {
        try? setup.importer.area.clear(identifier, keys)
      }
      transfer.releaseStaging()
      transfer.forget(in: setup.store)
    }
    transfers[identifier] = nil
  }

  /// Releases a transfer: a later session can take it back as soon as the worker has ended, also
  /// while a stream's last messages still hold the session. Old tombstones are removed here too,
  /// since no other moment recurs.
  mutating func release(_ identifier: TransferID) {
    // A released transfer may be on a disk that stands still, so the worker releases it.
    sessions = sessions.filter { $0.value.transfer.identifier != identifier }
    tend(identifier) { transfer, setup in
      transfer.releaseStaging()
      _ = transfer.releaseEntry()
      try? setup.store?.purge(now: Timestamp.coarseNow().seconds)
      CurrentProcess.returnFreeMemory()
    }
    transfers[identifier] = nil
  }

  /// Takes back a released transfer.
  func retake(_ identifier: TransferID) {
    let worker = RecoveryWorker(setup: setup)
    start("recovery") {
      try worker.retake(identifier)
    } failing: {
      .retook(identifier, .failure($0))
    }
  }

  private mutating func tend(
    _ identifier: TransferID, _ body: @escaping @Sendable (ReceivingTransfer, ReceiverSetup) -> Void
  ) {
    let (transfer, setup) = (transfer(identifier), setup)
    start("store") {
      body(transfer, setup)
      return WorkerReport(.noted(identifier))
    } failing: { _ in
      .noted(identifier)
    }
  }
}
