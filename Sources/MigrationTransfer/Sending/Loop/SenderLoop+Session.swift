import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// What happens in a session: the export, the data streams, and how far they are.
extension SenderLoop {
  /// Begins the export, and creates the values that the session's workers share.
  func export(_ number: SessionNumber, _ order: SenderEngine.ExportOrder) {
    guard let encounter else { preconditionFailure("a session begins when the receiver is met") }
    transfers[order.accept.transfer] = encounter.transfer
    let events = context.events
    let session = SendingSession(
      number: number, transfer: encounter.transfer, way: encounter.way,
      queue: SendQueue(window: order.accept.window, limit: context.options.limit) { unsent in
        events.post(.event(.unsent(number, unsent)))
      },
      compression: order.isCompressible ? context.options.compression : .never)
    sessions[number] = session
    start(
      ExportWorker(
        session: session, order: order, held: held.removeValue(forKey: number) ?? HeldItems(), source: context.source,
        store: context.store))
  }

  /// Starts a data stream.
  func open(_ number: SessionNumber, _ join: Join, _ attempts: Int) {
    guard let session = sessions[number] else { preconditionFailure("streams are opened when the export has begun") }
    do throws(SystemError) {
      let wakeup = try Wakeup()
      // Before its thread runs: a stop finds it.
      session.queue.register(join.stream, wakeup)
      start(
        OutgoingStreamWorker(
          session: session, join: join, wakeup: wakeup, attempts: attempts, patience: context.options.stallPatience))
    } catch {
      context.events.post(.event(.streamEnded(number, join.stream, .failed(Fault(error)))))
    }
  }

  /// Tells the user how far the transfer is.
  func tell(_ number: SessionNumber, _ phase: TransferPhase, _ total: ExpectedTotal, _ fraction: Double?) {
    let arrived = sessions[number]?.queue.arrived ?? Tally()
    context.observe(.progress(TransferProgress(phase, arrived, of: total, fraction: fraction)))
  }
}
