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
    let port = entrance?.address.port ?? 0
    let judged = judged.removeValue(forKey: session)
    assert(judged != nil, "an offer is staged that was examined")
    start("staging") {
      guard let judged else { throw Self.forgotten }
      return try worker.stage(order, judged, port: port)
    } failing: {
      .staged(session, .failure($0))
    }
  }

  /// The values that the workers of a session share. The engine names it from `staged` to the end
  /// of the session.
  func session(_ number: SessionNumber) -> ReceivingSession? {
    let session = sessions[number]
    assert(session != nil, "a session is here for as long as its workers")
    return session
  }

  /// A worker is to act on what this program has lost: a mistake of the program.
  private static var forgotten: Fault { Fault(.device, "the session was released while it was still running") }

  func readLedger(_ number: SessionNumber) {
    let session = session(number)
    start("ledger") {
      guard let session else { throw Self.forgotten }
      return WorkerReport(.ledger(number, .success(session.nextLedgerPart())))
    } failing: {
      .ledger(number, .failure($0))
    }
  }

  /// The source no longer has what these marks name.
  func drop(_ marks: [Mark], in number: SessionNumber) {
    let session = session(number)
    start("dropping") {
      guard let session else { throw Self.forgotten }
      session.staging.drop(marks)
      return WorkerReport(.dropped(number, nil))
    } failing: {
      .dropped(number, $0)
    }
  }

  func serve(_ id: ConnectionID, _ number: SessionNumber) {
    guard let session = session(number), let connection = served[id] else {
      return setup.post(.streamEnded(id, .over, held: Tally()))
    }
    let worker = IncomingStreamWorker(setup: setup, served: connection, session: session)
    let staging = session.staging
    start("stream") {
      worker.run()
      return nil
    } failing: { _ in
      // Another one may find a thread: its connection is closed, as one that was cut.
      .streamEnded(id, .over, held: staging.held)
    }
  }

  func lookForData(_ number: SessionNumber) {
    let moment = session(number)?.gate.lastLeft.map { setup.clock.seconds($0) }
    setup.post(.lookedForData(number, lastAt: moment))
  }

  /// Nothing more is written behind the end of the export.
  func shutGate(_ number: SessionNumber) {
    do throws(Violation) {
      try session(number)?.gate.shut()
      setup.post(.gateShut(number, nil))
    } catch {
      setup.post(.gateShut(number, Fault(error)))
    }
  }

  func sync(_ number: SessionNumber) {
    let session = session(number)
    start("sync") {
      guard let session else { throw Self.forgotten }
      try session.syncer.run()
      return WorkerReport(.syncEnded(number, nil))
    } failing: {
      .syncEnded(number, $0)
    }
  }
}
