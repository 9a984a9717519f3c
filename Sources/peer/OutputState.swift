import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The shared state of the threads that report events and the thread that writes texts about them.
struct OutputState: Sendable {
  /// How long a reader that takes nothing is waited for, at the end and before a question.
  static let still = Duration.seconds(1)
  /// The same once the user wants the program to end.
  private static let stillInHurry = Duration.milliseconds(250)

  /// The next step of the writing thread.
  enum Step: Sendable {
    case write(Text)
    case tell(TransferEvent)
    case missed(UInt64)
    case end
  }

  /// A text for one stream.
  struct Text: Sendable {
    let text: String
    let stream: StandardStream
    /// Whether it is of a result or a failure.
    let isWord: Bool
  }

  var report: any Report
  var queue = OutputQueue()
  /// The texts about the last event that are not written yet.
  private(set) var texts: ArraySlice<Text> = []
  /// The items of all reported events.
  var unsent = NotStoredList()
  /// The lists of the items of several transfers, or of the only one.
  private var lists: [TransferID?: ItemList] = [nil: ItemList()]
  /// The file for a list of items, if there is one.
  var listFile: ItemList.File?
  /// Names the user's next steps after a migration.
  var advise: (@Sendable (PartEnds) -> [NextStep])?
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
  /// The number of the first event that waits for the end of a question; nil without one.
  var heldFrom: UInt64?
  /// Whether the user wants the program to end.
  var isHurried = false
  /// Whether the writing thread is at work on a step; and the stream of its current write.
  var isBusy = false
  var stream: StandardStream?
  /// The event whose texts are being made, for which a disk may be read and written.
  private(set) var telling: TransferEvent?
  /// When a reader last took something, or was first offered it.
  var lastMove = BootInstant.now()
  /// Whether no event comes any more.
  var hasEnded = false
  /// Whether all is written.
  var isOver = false
  /// Whether the program ends without the writing thread.
  var isAbandoned = false

  init(_ report: any Report) { self.report = report }

  /// Notes an event, and queues it; false if it is not reported. If there is only one result, no event
  /// follows it, except those of another transfer: a known device may send again in the receiver's last
  /// minute.
  mutating func note(_ event: TransferEvent, as role: Role?, keeps: Bool) -> Bool {
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
    if isDone, !keeps { return false }
    if case .done = event.plain { isDone = true }
    queue.add(event)
    return true
  }

  /// Notes an event in the list of its transfer's items; returns the list if the event ends the transfer.
  mutating func list(noting event: TransferEvent, at now: Double) -> ItemList? {
    let key: TransferID? = if case .of(let id, _) = event { id } else { nil }
    guard var list = lists.removeValue(forKey: key) ?? (event.isEnd ? nil : ItemList()) else { return nil }
    list.note(event.plain, at: now)
    if event.isEnd { return list }
    lists[key] = list
    return nil
  }

  /// Adds the texts about an event: first that for standard error, so that no progress line precedes the
  /// result on its line.
  mutating func say(_ rendering: Rendering, isWord: Bool = false) {
    let all = [(rendering.standardError, StandardStream.error), (rendering.standardOutput, .output)]
    texts += all.filter { !$0.0.isEmpty }.map { Text(text: $0, stream: $1, isWord: isWord) }
  }

  /// The items of a home that stay behind.
  var lacking: [Omission] {
    leftOut.filter { if case .newer(let part?) = $0.reason { earlier.contains(part) } else { true } }
  }

  /// The next step; nil if there is nothing to do.
  mutating func next() -> Step? {
    if isAbandoned { return .end }
    let limit = hasEnded ? nil : heldFrom
    let step: Step?
    if let text = texts.popFirst() {
      (step, stream, lastMove) = (.write(text), text.stream, .now())
    } else if let count = queue.takeMissed(atEnd: hasEnded) {
      step = .missed(count)
    } else {
      step = queue.take(before: limit).map { .tell($0) } ?? (hasEnded ? .end : nil)
    }
    isBusy = step != nil
    telling = if case .tell(let event) = step { event } else { nil }
    return step
  }

  /// Whether all is written that precedes a question.
  var isQuiet: Bool { !isBusy && texts.isEmpty && !queue.hasEvents(before: heldFrom) }

  /// How long the end waits for a disk: the list of items and the next steps may need one.
  var patienceWithDisks: Duration { isHurried ? .seconds(2) : .seconds(120) }

  /// How long a reader that takes nothing is waited for at the end.
  var patience: Duration { isHurried ? Self.stillInHurry : Self.still }
}

/// The events that wait for their texts, in a bounded number of bytes. The latest progress replaces the one
/// before it; other events that do not fit are counted.
struct OutputQueue: Sendable {
  /// The most bytes that wait of the events of unlimited number, whose totals the end of a transfer has;
  /// others have twice the room. All items that another device may name in a session as not stored fit
  /// (Protocol §11), so a reader that reads misses none of them.
  static let capacity = 16 << 20

  private var waiting: ArraySlice<(number: UInt64, event: TransferEvent)> = []
  /// The number of all added events, which is also the number of the next one.
  private(set) var count: UInt64 = 0
  private var size = 0
  private var missed: UInt64 = 0

  mutating func add(_ event: TransferEvent) {
    if let last = waiting.last?.event, event.isProgress(after: last) {
      waiting.removeLast()
      size -= last.size
    }
    guard event.isEnd || size + event.size <= Self.capacity * (event.isOfMany ? 1 : 2) else {
      if case .progress = event.plain { return }
      missed += 1
      return
    }
    waiting.append((count, event))
    count += 1
    size += event.size
  }

  /// Whether an event that was added before this number is still waiting.
  func hasEvents(before number: UInt64?) -> Bool { waiting.first.map { $0.number < number ?? .max } ?? false }

  /// Takes the first event, if it was added before this number.
  mutating func take(before number: UInt64?) -> TransferEvent? {
    guard hasEvents(before: number), let event = waiting.popFirst()?.event else { return nil }
    size -= event.size
    // A slice keeps what was taken.
    if waiting.isEmpty { waiting = [] }
    return event
  }

  /// How many events were left out, once there is room again, or none follows but the last.
  mutating func takeMissed(atEnd: Bool) -> UInt64? {
    guard missed > 0, 2 * size <= Self.capacity || atEnd && waiting.count == 1 else { return nil }
    defer { missed = 0 }
    return missed
  }
}

extension TransferEvent {
  /// Whether it replaces the event before it: progress of the same transfer and phase.
  fileprivate func isProgress(after before: TransferEvent) -> Bool {
    switch (before, self) {
    case (.progress(let old), .progress(let new)): new.phase == old.phase
    case (.of(let other, let old), .of(let transfer, let new)): transfer == other && new.isProgress(after: old)
    default: false
    }
  }

  /// Whether it is one of an unlimited number.
  fileprivate var isOfMany: Bool {
    switch plain {
    case .notStored, .renamed, .extensionOutput: true
    default: false
    }
  }

  /// Its approximate size in memory, in bytes.
  fileprivate var size: Int {
    switch plain {
    case .notStored(let item, let note): 256 + item.path.count + (note?.utf8.count ?? 0)
    case .renamed(let path, let target): 256 + path.count + target.count
    case .extensionOutput(_, let line): 256 + line.count
    case .offer(let offer, _, _): 1024 + 64 * offer.rootCount
    default: 1024
    }
  }
}

extension Offer {
  fileprivate var rootCount: Int {
    if case .folders(let roots) = contents { roots.count } else { 0 }
  }
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
