import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// Finds out what there is to send.
struct WalkWorker: SenderWorker {
  let source: any ItemSource
  /// The walk ends when this is set.
  let stop: StopSignal
  let name = "walk"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do throws(ArchiveError) {
      return .event(.walked(.success(try source.prepare(until: stop))))
    } catch {
      return .event(.walked(.failure(Fault(error))))
    }
  }

  func end(without thread: Fault) -> SenderNews { .event(.walked(.failure(thread))) }
}
