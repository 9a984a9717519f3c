import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The shared state of the threads that report events and the thread that writes them.
struct OutputState: Sendable {
  // How long the program waits at the end for the readers of its output.

  /// For a reader that takes nothing.
  static let still = Duration.seconds(1)
  /// For the whole queue.
  static let whole = Duration.seconds(30)
  /// For the last word.
  static let lastWord = Duration.milliseconds(250)
  /// For a reader that takes nothing when the user wants the program to end.
  static let stillInHurry = Duration.milliseconds(250)
  /// For the whole queue when the user wants the program to end.
  static let wholeInHurry = Duration.milliseconds(300)
  /// For output of the last moment.
  static let shortest = Duration.milliseconds(150)

  struct Ending: Sendable {
    let word: TransferOutcome
    /// The time by which the queue must be written; then the last word comes.
    var deadline: BootInstant
  }

  /// Whether another thread is writing.
  enum Hold: Sendable {
    case none
    /// Waits until the events before this number are written.
    case wanted(UInt64)
    /// The writing thread pauses.
    case granted
  }

  /// The next step of the writing thread.
  enum Step: Sendable {
    case say(EventBacklog.Entry)
    case makeWay
    case end(TransferOutcome)
  }

  var queue = EventBacklog()
  /// The items of all reported events, including events that did not fit into the queue.
  var unsent = NotStoredList()
  /// The file for the list of items, if there is one.
  var listFile: ItemList.File?
  /// Adds to an event what this device knows about it.
  var explain: (@Sendable (TransferEvent) -> TransferEvent)?
  /// Names the user's next steps after a migration.
  var advise: (@Sendable (MigrationRecord) -> [NextStep])?
  /// The items of a home that stay behind, some of them only if an earlier run has brought their part.
  var leftOut: [Omission] = []
  /// The parts that an earlier run has brought.
  private var earlier: Set<UInt16> = []
  /// Whether data has begun to move, or is about to, so that a later run resumes the transfer.
  private(set) var isUnderWay = false
  /// The transfer that was last reported, and whether its result was.
  private var transfer: TransferID?
  private(set) var isDone = false
  var writer: OwnerThread?
  var hold = Hold.none
  /// When the user first wanted the program to end.
  private(set) var hurriedAt: BootInstant?
  var ending: Ending?
  /// The stream of the current write.
  var stream: StandardStream?
  var hasSaidDone = false
  var isAtLastWord = false
  var isOver = false
  /// Whether the program ends without the writing thread.
  var isAbandoned = false

  /// Records an event, and queues it. If there is only one result, no event follows it, except those of
  /// another transfer: a known device may send again in the receiver's last minute.
  mutating func add(_ event: TransferEvent, as role: Role? = nil, keeps: Bool) {
    unsent.note(event.plain)
    switch event.plain {
    case .partEnded(let end) where end.root == nil:
      if case .success(let result) = end.result, result.concludedAt != nil { earlier.insert(end.number) }
    case .progress(let progress): isUnderWay = isUnderWay || progress.phase.hasData
    case .resumed: isUnderWay = true
    // The sender has its record from here on.
    case .transfer where role == .sender: isUnderWay = true
    case .done, .failed: isUnderWay = false
    default: break
    }
    if case .transfer(let id) = event.plain, id != transfer {
      // The exit code is that of the last one.
      if isDone { unsent = NotStoredList() }
      (transfer, isDone) = (id, false)
    }
    if isDone, !keeps { return }
    if case .done = event.plain { isDone = true }
    queue.add(event)
  }

  /// The items of a home that stay behind.
  var lacking: [Omission] {
    leftOut.filter { if case .newer(let part?) = $0.reason { earlier.contains(part) } else { true } }
  }

  /// The next step; nil if there is nothing to do.
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

  /// Whether a write has not ended although the user wants the program to end. Its reader has had
  /// time since then, and gets no new time at the end.
  var isInHurriedWrite: Bool { hurriedAt != nil && stream != nil }

  /// When a reader that last took something at `move` is waited for no more.
  func endOfStandstill(since move: BootInstant) -> BootInstant {
    guard let hurriedAt else { return move.advanced(by: Self.still) }
    return max(move, hurriedAt).advanced(by: Self.stillInHurry)
  }

  /// Ends with a last word, by a deadline or by the earlier deadline of a hurry, but not before
  /// `earliest`: a working reader still gets the output since the hurry.
  mutating func end(with word: TransferOutcome, by deadline: BootInstant, notBefore earliest: BootInstant) {
    ending = Ending(word: word, deadline: min(deadline, hurriedDeadline.map { max($0, earliest) } ?? deadline))
  }

  /// The user wants the program to end: less time is left.
  mutating func hurry(now: BootInstant) {
    hurriedAt = hurriedAt ?? now
    if let ending, let hurriedDeadline { self.ending?.deadline = min(ending.deadline, hurriedDeadline) }
  }

  /// The deadline for the queue after the user's wish.
  private var hurriedDeadline: BootInstant? { hurriedAt?.advanced(by: Self.wholeInHurry) }
}

extension TransferProgress.Phase {
  /// Whether both ends remember the transfer by now.
  fileprivate var hasData: Bool {
    switch self {
    case .pairing, .checking: false
    case .sending, .receiving, .verifying, .importing: true
    }
  }
}
