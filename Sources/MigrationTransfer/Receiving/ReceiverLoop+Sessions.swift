import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The actions of sessions.
extension ReceiverLoop {
  /// Reads and writes a connection at READY from now on.
  mutating func converse(_ id: ConnectionID) {
    guard let connection = served.removeValue(forKey: id)?.take() else { return }
    controls.add(id, connection)
  }

  mutating func examine(_ session: SessionNumber, _ transfer: TransferID, _ offer: Offer, _ held: Tally) {
    let worker = StagingWorker(setup: setup, session: session, transfer: self.transfer(transfer))
    start("examination") {
      try worker.examine(offer, held: held)
    } failing: {
      .examined(session, .failure($0))
    }
  }

  mutating func stage(_ session: SessionNumber, _ order: ReceiverEngine.StagingOrder) {
    let worker = StagingWorker(setup: setup, session: session, transfer: transfer(order.transfer))
    let port = entrance?.port ?? 0
    let judged = judged.flatMap { $0.session == session ? $0.offer : nil }
    self.judged = nil
    start("staging") {
      guard let judged else { throw Fault.superseded }
      return try worker.stage(order, judged, port: port)
    } failing: {
      .staged(session, .failure($0))
    }
  }

  func readLedger(_ number: SessionNumber) {
    let session = sessions[number]
    start("ledger") {
      guard let session else { throw Fault.superseded }
      return WorkerReport(.ledger(number, .success(session.nextLedgerPart())))
    } failing: {
      .ledger(number, .failure($0))
    }
  }

  /// The source no longer has what these marks name.
  func drop(_ marks: [Mark], in number: SessionNumber) {
    let session = sessions[number]
    start("dropping") {
      session?.staging.drop(marks)
      return WorkerReport(.dropped(number, session == nil ? .superseded : nil))
    } failing: {
      .dropped(number, $0)
    }
  }

  func serve(_ id: ConnectionID, _ number: SessionNumber) {
    guard let connection = served[id], let session = sessions[number] else {
      return setup.post(.streamEnded(id, .over, held: Tally()))
    }
    let worker = IncomingStreamWorker(setup: setup, served: connection, session: session)
    let staging = session.staging
    start("stream") {
      worker.run()
      return nil
    } failing: {
      .streamEnded(id, .failed($0), held: staging.held)
    }
  }

  func sync(_ number: SessionNumber) {
    let syncer = sessions[number]?.syncer
    start("sync") {
      try syncer?.run()
      return WorkerReport(.syncEnded(number, nil))
    } failing: {
      .syncEnded(number, $0)
    }
  }
}
