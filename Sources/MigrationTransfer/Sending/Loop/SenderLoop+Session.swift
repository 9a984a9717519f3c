import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// What happens in a session: the ledger, the export, and the data streams.
extension SenderLoop {
  func hold(_ action: SenderEngine.Action) {
    switch action {
    case .keepHeld(let number, let page): held[number, default: HeldItems()].add(page)
    case .keepPartial(let number, let partial): held[number, default: HeldItems()].add(partial)
    case .export(let number, let order): export(number, order)
    case .openStream(let number, let join, let attempts): open(number, join, attempts)
    case .moveFrames(let number, let lost, let heir): sessions[number]?.queue.lost(lost, replacedBy: heir)
    case .retire(let number, let stream): sessions[number]?.queue.retire(stream)
    case .forgetStream(let number, let stream): sessions[number]?.queue.ended(stream)
    case .refuse(let number, let mark): sessions[number]?.queue.refuse(mark)
    case .finishWindow(let number): sessions[number]?.queue.finish()
    case .stopSession(let number): sessions[number]?.queue.stop()
    case .readWindow(let number): handle(.window(number, sessions[number]?.queue.counts() ?? .init()))
    case .tellProgress(let number, let phase, let total, let fraction): tell(number, phase, total, fraction)
    default: preconditionFailure("an action of another room")
    }
  }

  private func export(_ number: SessionNumber, _ order: SenderEngine.ExportOrder) {
    guard let encounter else { preconditionFailure("a session begins when the receiver is met") }
    transfers[order.accept.transfer] = encounter.transfer
    let events = context.events
    let session = SendingSession(
      number: number, transfer: encounter.transfer, way: encounter.way,
      queue: SendQueue(window: order.accept.window, limit: context.options.limit) { unsent in
        events.post(.event(.unsent(number, unsent)))
      },
      compression: CompressionKnowledge(order.isCompressible ? context.options.compression : .never))
    sessions[number] = session
    start(
      ExportWorker(
        session: session, order: order, held: held.removeValue(forKey: number) ?? HeldItems(), source: context.source,
        store: context.store))
  }

  private func open(_ number: SessionNumber, _ join: Join, _ attempts: Int) {
    guard let session = sessions[number] else { preconditionFailure("streams are opened when the export has begun") }
    do throws(SystemError) {
      let wakeup = try Wakeup()
      // Before its thread runs: a stop finds it.
      session.queue.register(join.stream, wakeup)
      start(
        StreamWorker(
          session: session, join: join, wakeup: wakeup, attempts: attempts, patience: context.options.stallPatience))
    } catch {
      context.events.post(.event(.streamEnded(number, join.stream, .failed(Fault(error)))))
    }
  }

  private func tell(_ number: SessionNumber, _ phase: TransferPhase, _ total: Tally, _ fraction: Double?) {
    let arrived = sessions[number]?.queue.arrived ?? Tally()
    context.observe(
      .progress(
        TransferProgress(
          phase: phase, bytes: arrived.bytes, totalBytes: max(total.bytes, arrived.bytes), items: arrived.items,
          totalItems: max(total.items, arrived.items), phaseFraction: fraction)))
  }
}
