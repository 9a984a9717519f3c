import MigrationArchive
import MigrationDiscovery
import MigrationEngine
import MigrationWire

/// The arguments of a sender's start. Its loop and its workers share them, and they do not change.
struct SenderSetup: Sendable {
  let options: Sender.Options
  let search: (any NearbySearch)?
  /// One for each part of the plan.
  let sources: [any ItemSource]
  let store: TransferStore?
  let observer: @Sendable (TransferEvent) -> Void
  let queue: EventQueue<SenderPerformer.WorkerReport>
  let workers = Workers()
  let caller: SenderCaller

  /// Reports an event to the loop.
  func post(_ event: SenderEngine.Event) { queue.post(Report(event)) }

  /// The identity of all sources from run to run, in the order of the parts.
  func origin() throws -> [[UInt8]] {
    var origin = options.migration.map { [$0] } ?? []
    for source in sources { origin += try source.origin() }
    return origin
  }
}
