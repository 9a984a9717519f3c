import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Finds what earlier runs have begun to send of the same source, newest first, and takes it for
/// this process.
struct LookUpWorker: SenderWorker {
  let source: any ItemSource
  let store: TransferStore?
  let name = "look up"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do {
      return .lookedUp(try unfinished())
    } catch {
      return .event(.lookedUp(.failure(Fault(error))))
    }
  }

  func end(without thread: Fault) -> SenderNews { .event(.lookedUp(.failure(thread))) }

  private func unfinished() throws -> [SendingTransfer.Unfinished] {
    guard let store else { return [] }
    try store.purge(now: Timestamp.coarseNow().seconds)
    return try store.unfinishedSends(of: try source.origin()).compactMap { listed in
      // A transfer that another process sends at the moment is left to it.
      guard let entry = try? store.open(listed.remembered.transfer, role: .sender) else { return nil }
      let remembered = entry.remembered
      return SendingTransfer.Unfinished(
        known: SenderEngine.UnfinishedTransfer(
          identifier: remembered.transfer, receiver: remembered.peer, address: remembered.address,
          unsent: remembered.unsent, lastSeen: remembered.lastSeen,
          done: remembered.done?.done, refusals: remembered.notStored),
        transfer: SendingTransfer(
          try Identity(encoded: remembered.identity), receiver: remembered.peer, entry: entry))
    }
  }
}
