internal import Dispatch
internal import MigrationSystem

/// Threads that may block, for tasks that open files and wait for a host. The cooperative threads
/// are few and must not block.
final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor()

  private let queue = DispatchQueue(label: "AppMigrationKit", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    queue.async(execute: work(of: job))
  }
}
