import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// Performs the engine's actions. Workers perform those that block.
extension ReceiverLoop {
  mutating func perform(_ action: Action) {
    switch action {
    case .takeBack: takeBack()
    case .listen: listen()
    case .announce: if let address = entrance?.address { setup.helpers.announcer?.announce(address) }
    case .withdrawAnnouncement: setup.helpers.announcer?.withdraw()
    case .tell(let event): setup.observer(event)
    case .tellProgress(let transfer, let phase, let total, let fraction): tell(transfer, phase, total, fraction)
    case .finish(let result): self.result = result

    case .drop(let connection): close(connection)
    case .pauseAccepting(let moment): entrance?.rest(until: setup.clock.instant(moment))
    case .greet(let connection, let tlsUntil, let helloUntil): greet(connection, tlsUntil, helloUntil)
    case .awaitShare(let connection, let deadline): awaitShare(connection, deadline)
    case .exchange(let connection, let deadline): exchange(connection, deadline)
    case .confirm(let connection, let deadline): confirm(connection, deadline)
    case .welcome(let connection, let mode, let deadline): welcome(connection, mode, deadline)
    case .turnAway(let connection, let reason): turnAway(connection, reason)
    case .refuseStream(let connection, let close): refuse(connection, close)
    case .dismiss(let connection, let makesRoom): served[connection]?.dismissal.dismiss(makesRoom: makesRoom)

    case .makeCode: makeCode()
    case .forgetCode: secret = nil
    case .ask(let question): ask(question)
    case .withdrawQuestion: questionEnding.signal()

    case .converse(let connection): converse(connection)
    case .say(let connection, let message): controls.say(connection, message)
    case .close(let connection, let deadline), .hurryClosing(let connection, let deadline):
      controls.close(connection, until: deadline)

    case .examine(let session, let transfer, let offer, let held): examine(session, transfer, offer, held)
    case .stage(let session, let order): stage(session, order)
    case .readLedger(let session): readLedger(session)
    case .dropItems(let session, let marks): drop(marks, in: session)
    case .serve(let connection, let session, _): serve(connection, session)
    case .endStream(let connection): served[connection]?.dismissal.dismiss(makesRoom: false)
    case .sync(let session): sync(session)
    case .endSync(let session): sessions[session]?.syncer.stop()
    case .lookForData(let session): lookForData(session)
    case .shutGate(let session): shutGate(session)
    case .closeGate(let session): sessions[session]?.gate.close()

    case .importItems(let transfer, let finish, let withheld): importItems(transfer, finish, withheld)
    case .interruptImport: setup.importer.interrupt()
    case .note(let transfer): note(transfer)
    case .forget(let transfer): forget(transfer)
    case .discard(let transfer): discard(transfer)
    case .release(let transfer): release(transfer)
    case .retake(let transfer): retake(transfer)
    }
  }

  /// Starts a worker. It ends in the event that its body gives, or tells itself where that gives
  /// none; where it throws or has no thread, in the event of that failure.
  func start(
    _ name: String, _ body: @escaping @Sendable () throws -> WorkerReport?,
    failing failed: @escaping @Sendable (Fault) -> Event
  ) {
    let (queue, work) = (setup.queue, Handover(body))
    do {
      try setup.workers.start(name) {
        if let report = Self.run(work, failing: failed) { queue.post(report) }
      }
    } catch {
      queue.post(WorkerReport(failed(Fault(error))))
    }
  }

  /// Runs the body of a worker, and lets go of all that it holds.
  private static func run(
    _ work: Handover<@Sendable () throws -> WorkerReport?>, failing failed: (Fault) -> Event
  ) -> WorkerReport? {
    let body = work.take()
    do {
      return try body()
    } catch {
      return WorkerReport(failed(Fault(error)))
    }
  }
}

// MARK: The run

extension ReceiverLoop {
  private mutating func takeBack() {
    // They hold locks; from now on those who need them do.
    let worker = RecoveryWorker(setup: setup, entries: entries)
    entries = []
    start("recovery") {
      try worker.run()
    } failing: {
      .tookBack(.failure($0))
    }
  }

  private func listen() {
    let worker = ListeningWorker(setup: setup, rememberedPort: rememberedPort)
    start("listening") {
      try worker.run()
    } failing: {
      .listening(.failure($0))
    }
  }

  private func tell(_ transfer: TransferID, _ phase: TransferPhase, _ total: ExpectedTotal, _ fraction: Double?) {
    let held = transfers[transfer]?.held ?? Tally()
    setup.observer(.progress(TransferProgress(phase, held, of: total, fraction: fraction)))
  }
}
