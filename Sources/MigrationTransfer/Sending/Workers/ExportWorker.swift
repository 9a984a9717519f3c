import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Remembers the transfer, and packs everything that the receiver does not hold into the session's window.
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
    // Before anything is sent: what arrives must never be without a sender that remembers it.
    if let store { try session.transfer.remember(in: store) { try remembered() } }
    let accept = order.accept
    let traits = order.traits
    if let clause = source.withholding(for: traits).clause {
      events.post(.event(.withholding(session.number, clause: clause)))
    }
    let packer = FramePacker(
      outlet: session.queue, sealer: try ChunkSealer(accept.keys), keys: accept.keys, held: held, traits: traits)
    try source.export(to: packer, for: order.request)
    try packer.drain()
    return SenderEngine.Exported(finish: packer.finish, stale: packer.staleMarks)
  }

  private func remembered() throws -> RememberedTransfer {
    let now = Timestamp.coarseNow().seconds
    return RememberedTransfer(
      transfer: order.accept.transfer, role: .sender, identity: try session.transfer.identity.encoded(),
      peer: session.transfer.receiver, label: order.label, address: order.address, started: now, lastSeen: now,
      total: order.summary.total, held: Tally(), subject: .sources(try source.origin()))
  }
}
