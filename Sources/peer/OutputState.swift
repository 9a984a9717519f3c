import MigrationEngine
import MigrationSystem
import MigrationTransfer
import PeerTransfer

/// What the threads that have something to say and the one that writes it know of each other.
struct OutputState: Sendable {
  /// What is written last.
  enum LastWord: Sendable {
    case done(TransferResult)
    case failed(TransferFailure)
  }

  struct Ending: Sendable {
    let word: LastWord
    /// When all that waits must have been written; then the last word comes.
    var deadline: BootInstant
  }

  /// Whether another thread writes just now.
  enum Hold: Sendable {
    case none
    /// Once the events are written that were there: those before this number.
    case wanted(UInt64)
    /// The writing thread writes nothing.
    case granted
  }

  /// What the writing thread does next.
  enum Step: Sendable {
    case say(EventBacklog.Entry)
    case makeWay
    case end(LastWord)
  }

  var queue = EventBacklog()
  /// Of all events that were told, those included that did not fit into the queue.
  var unsent = UnsentList()
  var writer: OwnerThread?
  var hold = Hold.none
  /// Until when a reader may take what waits, since the user wants the program to end.
  private(set) var hurried: BootInstant?
  var ending: Ending?
  /// The stream that is being written to.
  var stream: StandardStream?
  var hasSaidDone = false
  var isAtLastWord = false
  var isOver = false
  /// The program ends without the writing thread.
  var isAbandoned = false

  /// What comes next; nil if there is nothing to do.
  mutating func next(now: BootInstant) -> Step? {
    if let ending {
      if now >= ending.deadline { queue.shed() }
      return queue.take().map { .say($0) } ?? .end(ending.word)
    }
    return switch hold {
    case .none: queue.take().map { .say($0) }
    case .wanted(let number): queue.hasEvents(before: number) ? queue.take().map { .say($0) } : .makeWay
    case .granted: nil
    }
  }

  /// Ends with a last word, by a deadline or by the earlier one that a hurry has set, but not before `earliest`: what was said
  /// since the hurry is read by a reader that reads.
  mutating func end(with word: LastWord, by deadline: BootInstant, notBefore earliest: BootInstant) {
    ending = Ending(word: word, deadline: min(deadline, hurried.map { max($0, earliest) } ?? deadline))
  }

  /// Ends by a deadline, or by an earlier one that is there.
  mutating func hurry(to deadline: BootInstant) {
    hurried = min(hurried ?? deadline, deadline)
    if let ending { self.ending?.deadline = min(ending.deadline, deadline) }
  }
}
