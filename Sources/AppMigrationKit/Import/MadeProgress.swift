internal import Dispatch
internal import MigrationSystem

/// Observes the progress that an import makes. It is the current progress on the import's threads
/// while the author's code runs there, so that a new `Progress(totalUnitCount:)` becomes its child.
///
/// It remembers the child and does not adopt it, since the author may want to add it to another
/// progress. The first child counts.
final class MadeProgress: Progress, @unchecked Sendable {
  // Progress itself is declared safe to use everywhere; the member that is added here has a lock.
  private let first = Mutex<Progress?>(nil)

  /// Makes a progress that is not a child of the current one. Only this module calls it.
  init() { super.init(parent: nil) }

  /// The fraction of the import's own progress; zero before there is one.
  var share: UInt32 { first.withLock { $0 }?.millionths ?? 0 }

  /// Runs a piece of the import. It does not suspend: later code on this thread is not part of the
  /// import.
  func hear(_ body: () -> Void) {
    guard first.withLock({ $0 == nil }) else { return body() }
    becomeCurrent(withPendingUnitCount: 0)
    body()
    resignCurrent()
  }

  override func addChild(_ child: Progress, withPendingUnitCount count: Int64) {
    first.withLock { first in
      if first == nil { first = child }
    }
  }
}

/// Threads that may block, for the tasks of one import.
final class ImportExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "AppMigrationKit.import", attributes: .concurrent)
  private let made: MadeProgress

  init(_ made: MadeProgress) { self.made = made }

  func enqueue(_ job: consuming ExecutorJob) {
    let work = work(of: job)
    queue.async { @Sendable [made] in made.hear(work) }
  }
}
