import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Remembers the transfer, and has everything read that the receiver does not hold, until all of it
/// is written.
struct ExportWorker: SenderWorker {
  let session: SendingSession
  let order: SenderEngine.ExportOrder
  let held: HeldItems
  let source: any ItemSource
  let store: TransferStore?
  let name = "export"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do {
      return .event(.exported(session.number, .success(try export(events))))
    } catch {
      return .event(.exported(session.number, .failure(Fault(error))))
    }
  }

  func end(without thread: Fault) -> SenderNews { .event(.exported(session.number, .failure(thread))) }

  private func export(_ events: EventQueue<SenderNews>) throws -> SenderEngine.Exported {
    // That of the session before: a transfer may have thousands.
    CurrentProcess.returnFreeMemory()
    // Before anything is sent: received data must never be without a sender that remembers it.
    if let store { try session.transfer.remember(in: store) { try remembered() } }
    let accept = order.accept
    let traits = order.traits
    if let clause = source.withholding(for: traits).clause {
      events.post(.event(.withholding(session.number, clause: clause)))
    }
    let settings = ExportSettings(
      listener: session.queue, keys: accept.keys, held: held, traits: traits, isRotating: source.isRotating
    ) { () throws(ArchiveError) in
      do {
        return try ChunkSealer(accept.keys)
      } catch {
        throw ArchiveError(.storage, "no content can be sealed: \(error)")
      }
    }
    defer { session.queue.serveNothing() }
    let result = try source.export(settings, for: order.request) { session.queue.serve($0) }
    try session.queue.drain()
    return SenderEngine.Exported(finish: result.finish, stale: result.stale)
  }

  private func remembered() throws -> RememberedTransfer {
    let now = Timestamp.coarseNow().seconds
    return RememberedTransfer(
      transfer: order.accept.transfer, role: .sender, identity: try session.transfer.identity.encoded(),
      peer: session.transfer.receiver, label: order.label, address: order.address, started: now, lastSeen: now,
      total: order.summary.total, held: Tally(), subject: .sources(try source.origin()))
  }
}
