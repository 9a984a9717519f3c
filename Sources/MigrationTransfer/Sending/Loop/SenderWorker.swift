import MigrationEngine

/// A piece of a sender's work that blocks. It runs on a thread of its own, decides nothing, and ends in one event.
protocol SenderWorker: Sendable {
  /// What the thread is called.
  var name: String { get }
  /// Does the work; what ends it. News that come before the end are posted.
  func run(_ events: EventQueue<SenderNews>) -> SenderNews
  /// What ends it where no thread can be made for it.
  func end(without thread: Fault) -> SenderNews
}
