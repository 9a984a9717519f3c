import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Objects that a transfer makes, which do not live on because of this.
private final class Observed: Sendable {
  private struct Entry: Sendable {
    weak let object: (any AnyObject & Sendable)?
  }

  private let entries = Mutex<[Entry]>([])

  func add(_ object: any AnyObject & Sendable) { entries.withLock { $0.append(Entry(object: object)) } }

  var count: Int { entries.withLock { $0.count } }

  /// Waits until all are released, since a thread releases its values as it ends.
  func areReleased() -> Bool {
    let deadline = soon()
    while entries.withLock({ $0.contains { $0.object != nil } }) {
      if BootInstant.now() > deadline { return false }
      sched_yield()
    }
    return true
  }
}

/// Real folders; their exports, and the signals of the queues that these serve, are observed.
private final class ObservedSource: ItemSource {
  let exports = Observed()
  let signals = Observed()
  private let source: FolderSource

  init(_ source: FolderSource) { self.source = source }

  func origin() throws(Failure) -> [[UInt8]] { try source.origin() }
  func identities(by naming: SourceNaming) -> [SourceIdentity] { source.identities(by: naming) }
  func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary { try source.prepare(until: stop) }
  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    signals.add(settings.stopSignal)
    return try source.export(settings, for: request) { export in
      exports.add(export)
      begin(export)
    }
  }
}

/// The objects of a transfer refer to each other, and are released all the same when it has ended.
@Suite struct ReleaseTests {
  @Test func `a sender that has ended leaves no export and no queue behind`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/file", Array("hello".utf8))
    let receiver = try RunningReceiver(destination)
    let observed = ObservedSource(try FolderSource(paths: [source.at("tree")]))
    let code = try receiver.events.code()
    let sender = try Sender(Sender.Options(to: try receiver.port()), sources: [observed]) { _ in
    } code: { (_, _) throws(Failure) in
      TypedCode(code: code)
    }
    _ = try RunningThread("sender") { try sender.run() }.value()
    _ = try receiver.result()
    expect(observed.exports.count, is: 1)
    expect(observed.exports.areReleased())
    expect(observed.signals.areReleased())
  }

  @Test func `a queue without a loop keeps no event`() throws {
    let queue = try EventQueue<StopSignal>()
    let events = Observed()
    func post() {
      let event = StopSignal()
      events.add(event)
      queue.post(event)
    }
    post()
    queue.close()
    expect(events.areReleased())
    post()
    expect(events.areReleased())
    expect(queue.take().isEmpty)
  }
}
