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
  let choice: ReceiverAsker
  let code: CodeAsker
  let queue: EventQueue<SenderPerformer.WorkerReport>
  let workers = Workers()

  /// Reports an event to the loop.
  func post(_ event: SenderEngine.Event) { queue.post(Report(event)) }

  /// The identity of all sources from run to run, in the order of the parts.
  func origin() throws -> [[UInt8]] {
    var origin = options.migration.map { [$0] } ?? []
    for source in sources { origin += try source.origin() }
    return origin
  }

  /// The parts with the numbers of their sources, which a device without records does not have.
  func identified(_ summaries: [SourceSummary]) throws(Failure) -> [SourceSummary] {
    guard let naming = store?.naming() else { return summaries }
    var identified = summaries
    for (index, source) in sources.enumerated() {
      let identities = source.identities(by: naming)
      identified[index].sources = identities
      let nameless = zip(summaries[index].contents.roots, identities).filter { $0.1 == .unknown }.map(\.0.name)
      guard !nameless.isEmpty else { continue }
      let names = nameless.prefix(5).map { VisibleText.quoted($0) }.joined(separator: ", ")
      observer(
        .notice(
          "\(names)\(nameless.count > 5 ? " and others" : ""): nothing tells this file system from others, so a later "
            + "transfer is one from another source, and replaces nothing"))
    }
    return identified
  }

  /// The numbers of all sources.
  func identities() throws(Failure) -> Set<SourceIdentity> {
    guard let naming = store?.naming() else { return [] }
    return Set(sources.flatMap { $0.identities(by: naming) })
  }
}
