import MigrationEngine

/// A piece of a sender's work that blocks. It runs on a thread of its own, decides nothing, and
/// ends in one event.
protocol SenderWorker: Sendable {
  /// The name of the thread.
  var name: String { get }
  /// Does the work and returns the event that ends it. Posts the events before that.
  func run(_ events: EventQueue<SenderNews>) -> SenderNews
  /// The event that ends it where no thread can be made for it.
  func end(without thread: Fault) -> SenderNews
}
