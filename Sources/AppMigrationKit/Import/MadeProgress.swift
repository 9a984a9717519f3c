internal import Dispatch
internal import Synchronization

/// Hears of the progress that an import makes: it is current on the import's threads while the author's code runs there, so that
/// a new `Progress(totalUnitCount:)` becomes its child.
///
/// It does not take the child, which the author may want to add to another one, but remembers it. The first one counts.
final class MadeProgress: Progress, @unchecked Sendable {
  // Progress itself says that it is safe to use everywhere; what is added here has a lock.
  private let first = Mutex<Progress?>(nil)

  /// Made by our code alone: it is no child of the current one.
  init() { super.init(parent: nil) }

  /// How far the import's own progress is; zero before there is one.
  var share: UInt32 { first.withLock { $0 }?.millionths ?? 0 }

  /// Runs a piece of the import. It does not suspend: what runs on this thread after it is something else.
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
    let job = UnownedJob(job)
    queue.async { @Sendable [self] in
      made.hear { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}
