import MigrationSystem
package import MigrationWire
import Synchronization

/// Where the frames of an archive come from: every data stream reads what it sends.
package protocol FrameSource: AnyObject, Sendable {
  /// Reads what is next and packs it into an empty frame. Every frame with a number below `written` is written at the receiver.
  /// An export that is over fills none.
  func fill(_ frame: inout FrameBuffer, written: UInt64) -> FrameFilling
  /// Whether everything that was added is read, and every reader has let go of its frame.
  var isRead: Bool { get }
  /// About how many frames are still to be filled, without those that readers have in hand.
  var waitingFrames: Int { get }
  /// The transfer is over.
  func stop()
}

/// What an archive has come to.
package struct ExportResult: Sendable {
  /// What FINISH says when nothing more is added.
  package let finish: Finish
  /// What the receiver holds and the source no longer has.
  package let stale: [Mark]
}

/// What came of filling a frame.
package enum FrameFilling: Equatable, Sendable {
  case full
  /// There is nothing now; maybe at a moment.
  case nothing(until: Double?)
}

/// One export: what is to be read, the readers that read it, and what all of it comes to.
package final class ArchiveExport<Place: SourceDirectory>: FrameSource {
  struct State: Sendable {
    var list: WorkList
    var batches: [WorkList.Batch: Batch] = [:]
    var files: [WorkList.FileNumber: LargeFile<Place.File>] = [:]
    /// The readers that read nothing now.
    var idle: [ArchiveReader<Place>] = []
    var readers = 0
    /// Whether the last frame was waited for.
    var isDiskSlow = false
    /// What there is but for what readers have in hand.
    var sum = ArchiveSum()
    /// Why nothing more can be read.
    var failure: ArchiveError?
    /// Records of items that nothing is read for.
    var records: [ItemRecord] = []
    /// How many frames there are that small items were read into as they were added.
    var grown = 0

    var isRead: Bool { list.isEmpty && records.isEmpty && grown == 0 && idle.count == readers }
  }

  struct Batch: Sendable {
    let source: SourceBatch<Place>
    var links = LinkedNames()
    /// The first item that belongs to the archive and could not be sent.
    var firstUnsent: Unsent?
  }

  package let settings: ExportSettings
  let state: Condition<State>
  /// The frame that small items are read into as they are added.
  let growing = Mutex(GrowingFrame<Place>())
  /// Called when a batch is read, and when nothing more can be.
  private let batchEnded: @Sendable () -> Void

  package init(_ settings: ExportSettings, batchEnded: @escaping @Sendable () -> Void = {}) {
    self.settings = settings
    self.batchEnded = batchEnded
    state = Condition(State(list: WorkList(readers: settings.readers)))
  }

  package var isStopped: Bool { settings.listener.stopSignal.isSet }
  static var stopped: ArchiveError { ArchiveError(.stopped, "the transfer is over") }

  // MARK: What is read

  /// Adds a walked tree; what of it is known not to travel is named at once.
  package func add(_ source: SourceBatch<Place>) -> WorkList.Batch {
    let walked = source.tree.unsent.map(source.named)
    for unsent in walked { settings.listener.unsent(unsent) }
    var batch = Batch(source: source.lacking(settings.traits))
    batch.firstUnsent = walked.first { $0.reason != .notSendable }
    let number = state.withLock { state in
      state.sum.unsent += UInt64(walked.count)
      let number = state.list.add(source.tree, merged: source.merged)
      state.batches[number] = batch
      return number
    }
    settings.listener.workAdded()
    return number
  }

  /// Adds items that nothing is read for.
  func add(_ records: [ItemRecord], leavingBehind names: [[UInt8]] = []) {
    state.withLock { state in
      state.records += records
      for name in names { state.sum.leftBehind.note(name) }
    }
    settings.listener.workAdded()
  }

  /// Whether every item of a batch is in a frame, or will never be.
  package func isRead(_ batch: WorkList.Batch) -> Bool { state.withLock { $0.list.isDone(batch) } }

  package var isRead: Bool { state.withLock { $0.isRead } }

  /// Waits until a batch is read; the first of its items that belongs to the archive and could not be sent.
  package func wait(for batch: WorkList.Batch) throws(ArchiveError) -> Unsent? {
    try wait { $0.list.isDone(batch) }
    return forget(batch)
  }

  /// Forgets a batch that is read; the first of its items that belongs to the archive and could not be sent.
  func forget(_ batch: WorkList.Batch) -> Unsent? {
    state.withLock { state in
      precondition(state.list.isDone(batch), "a batch is forgotten when it is read")
      return state.batches.removeValue(forKey: batch)?.firstUnsent
    }
  }

  /// Waits until everything is read.
  package func waitUntilRead() throws(ArchiveError) { try wait { $0.isRead } }

  private func wait(_ isOver: (State) -> Bool) throws(ArchiveError) {
    let end = state.wait { state -> Result<Void, ArchiveError>? in
      if isStopped { return .failure(Self.stopped) }
      return state.failure.map { .failure($0) } ?? (isOver(state) ? .success(()) : nil)
    }
    try end?.get()
  }

  /// Throws what keeps anything more from being read.
  package func check() throws(ArchiveError) {
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  package func stop() {
    // A wait that has looked before that waits for the lock again by now, and hears the broadcast.
    state.withLock { _ in }
    state.broadcast()
  }

  /// What the archive has come to, as far as readers have let go of it.
  package var result: ExportResult {
    ExportResult(finish: state.withLock { $0.sum.finish }, stale: settings.held.stale)
  }

  // MARK: Filling frames

  package var waitingFrames: Int {
    let now = settings.now()
    return state.withLock { state in
      state.list.waitingFrames(of: settings.sizes.fullFrame, now: now) + (state.records.isEmpty ? 0 : 1)
        + state.grown
    }
  }

  // A class's methods are one for all places, else: each call in them would ask at run time for which.
  @specialized(where Place == RealDirectory)
  @specialized(where Place == AppendedPlace)
  package func fill(_ frame: inout FrameBuffer, written: UInt64) -> FrameFilling {
    guard !isStopped else { return .nothing(until: nil) }
    if takeFull(&frame) { return .full }
    guard let reader = borrow() else { return .nothing(until: nil) }
    reader.packer.begin(exchange(&frame, with: FrameBuffer(capacity: 0)))
    let begun = settings.now()
    let moment = reader.fill(written: written)
    frame = reader.packer.end()
    reader.rest()
    giveBack(reader, hasWaited: Self.isSlow(frame, settings.now() - begun))
    return frame.isEmpty ? takeGrown(&frame, or: moment) : .full
  }

  /// A reader that reads nothing now, one with something in hand if there is such; nil where there may be no more of them.
  private func borrow() -> ArchiveReader<Place>? {
    let (idle, number) = state.withLock { state -> (ArchiveReader<Place>?, Int?) in
      if settings.isRotating, state.isDiskSlow, state.idle.count < state.readers { return (nil, nil) }
      if let place = state.idle.firstIndex(where: \.isReading) { return (state.idle.remove(at: place), nil) }
      if let last = state.idle.popLast() { return (last, nil) }
      guard state.readers < settings.readers else { return (nil, nil) }
      state.readers += 1
      return (nil, state.readers)
    }
    guard let number else { return idle }
    do {
      return try ArchiveReader(number, of: self)
    } catch {
      state.withLock { state in
        state.readers -= 1
        state.failure = error
      }
      state.broadcast()
      batchEnded()
      return nil
    }
  }

  private func giveBack(_ reader: ArchiveReader<Place>, hasWaited: Bool) {
    let sum = reader.packer.takeSum()
    let isRead = state.withLock { state in
      state.idle.append(reader)
      state.sum.add(sum)
      state.isDiskSlow = hasWaited
      return state.isRead
    }
    if isRead { state.broadcast() }
  }

  /// Whether filling a frame took longer than from memory, on a busy machine as well.
  private static func isSlow(_ frame: FrameBuffer, _ seconds: Double) -> Bool {
    seconds > 1e-3 + 100e-6 * Double(frame.items) + 2e-9 * Double(frame.count)
  }

  private func exchange(_ frame: inout FrameBuffer, with other: consuming FrameBuffer) -> FrameBuffer {
    let taken = frame
    frame = other
    return taken
  }
}

// What readers ask and tell.
extension ArchiveExport {
  func next(for reader: ArchiveReader<Place>, written: UInt64) -> WorkList.Work {
    let now = settings.now()
    return state.withLock { $0.list.next(for: reader.number, now: now, written: written) }
  }

  func takeRecord() -> ItemRecord? { state.withLock { $0.records.popLast() } }

  /// What is read; nil once all of it is, and it is forgotten: a run may be of directories alone that are in the archive already.
  func batch(_ number: WorkList.Batch) -> SourceBatch<Place>? { state.withLock { $0.batches[number]?.source } }

  func file(_ number: WorkList.FileNumber) -> LargeFile<Place.File> {
    guard let file = state.withLock({ $0.files[number] }) else { preconditionFailure("an open file is known") }
    return file
  }

  func postpone(_ item: WorkList.Item, _ tries: WorkList.Tries, until due: Double) {
    state.withLock { $0.list.postpone(item, tries, until: due) }
  }

  func changed(_ item: WorkList.Item, _ tries: WorkList.Tries, lastFrame: UInt64) {
    state.withLock { $0.list.changed(item, tries, lastFrame: lastFrame) }
  }

  func opened(_ file: LargeFile<Place.File>, after frame: UInt64?) -> WorkList.FileNumber {
    state.withLock { state in
      let number = state.list.opened(file.item, after: frame)
      state.files[number] = file
      return number
    }
  }

  /// A reader has found no part of a file that is left to take, and reads no more of it; whether it was the last one.
  func left(_ number: WorkList.FileNumber) -> Bool {
    state.withLock { state in
      state.list.exhausted(number)
      guard state.list.left(number) else { return false }
      state.files[number] = nil
      return true
    }
  }

  func claim(_ item: WorkList.Item, _ generation: Generation) -> LinkedNames.Claim {
    state.withLock { $0.batches[item.batch]?.links.claim(item.index, generation) ?? .mine }
  }

  func sent(_ item: WorkList.Item, _ generation: Generation) {
    state.withLock { $0.batches[item.batch]?.links.sent(item.index, generation) }
  }

  func released(_ item: WorkList.Item) {
    state.withLock { $0.batches[item.batch]?.links.released(item.index) }
  }

  func note(_ unsent: Unsent, of batch: WorkList.Batch) {
    guard unsent.reason != .notSendable else { return }
    state.withLock { state in
      if state.batches[batch]?.firstUnsent == nil { state.batches[batch]?.firstUnsent = unsent }
    }
  }

  func done(_ count: Int, of batch: WorkList.Batch) {
    guard state.withLock({ $0.list.done(count, of: batch) }) else { return }
    state.broadcast()
    batchEnded()
  }
}
