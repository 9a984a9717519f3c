import MigrationSystem
package import MigrationWire

/// The source of an archive's frames: every data stream reads the frames that it sends from it.
package protocol FrameSource: AnyObject, Sendable {
  /// Reads the next data and packs it into an empty frame. The receiver has written every frame
  /// with a number below `written`. An export that has ended fills no frame.
  func fill(_ frame: inout FrameBuffer, written: UInt64) -> FrameFilling
  /// Whether every added item has been read, and every reader has released its frame.
  var isRead: Bool { get }
  /// The approximate number of frames still to fill, not counting the frames that readers are
  /// filling.
  var waitingFrames: Int { get }
  /// Stops the export when the transfer has ended.
  func stop()
}

/// The result of filling a frame.
package enum FrameFilling: Equatable, Sendable {
  case full
  /// No data now; there may be some at the given time.
  case nothing(until: Double?)
}

/// One export: the items to read, the readers that read them, and the totals.
package final class ArchiveExport<Source: SourceDirectory>: FrameSource {
  struct State: Sendable {
    var list: WorkList
    var batches: [WorkList.Batch: Batch] = [:]
    var files: [WorkList.FileNumber: LargeFile<Source.File>] = [:]
    /// The readers without work.
    var idle: [ArchiveReader<Source>] = []
    var readers = 0
    /// Whether filling the last frame waited for the disk.
    var isDiskSlow = false
    /// The totals, without the work that readers have in hand.
    var sum = ArchiveSum()
    /// Why no more can be read.
    var failure: Failure?
    /// The records of items that need no reading.
    var records: [ItemRecord] = []
    /// The number of frames filled with small items as they were added.
    var grown = 0

    var isRead: Bool { list.isEmpty && records.isEmpty && grown == 0 && idle.count == readers }
  }

  struct Batch: Sendable {
    let source: SourceBatch<Source>
    var links = LinkedNames()
    /// The first item of the archive that could not be sent.
    var firstUnsent: NotStored?
    /// The states in which items were sent that are captured together with others.
    var captured: [Int: Generation] = [:]
    /// The states in which such items were left out.
    var uncaptured: [Int: Generation] = [:]
    var folders = UnchangedFolders()
  }

  package let settings: ExportSettings
  let state: Condition<State>
  /// The frame that collects small items as they are added.
  let growing = Mutex(GrowingFrame<Source>())
  /// Called when a batch has been read, and when no more can be read.
  private let batchEnded: @Sendable () -> Void

  package init(_ settings: ExportSettings, batchEnded: @escaping @Sendable () -> Void = {}) {
    self.settings = settings
    self.batchEnded = batchEnded
    state = Condition(State(list: WorkList(readers: settings.readers)))
  }

  package var isStopped: Bool { settings.listener.stopSignal.isSet }
  static var stopped: Failure { Failure(.stopped, "the transfer has ended") }

  // MARK: Adding items

  /// Adds a walked tree, and reports at once its items that are known to be unsendable.
  package func add(_ source: SourceBatch<Source>) -> WorkList.Batch {
    let walked = source.tree.unsent.map(source.named)
    for unsent in walked { settings.listener.unsent(unsent) }
    var batch = Batch(source: source.checked(by: settings))
    batch.firstUnsent = walked.first { $0.reason != .notSendable }
    let number = state.withLock { state in
      state.sum.unsent += UInt64(walked.count)
      state.sum.lostAttributes.add(source.tree.lostAttributes)
      let number = state.list.add(source.tree, merged: source.merged)
      state.batches[number] = batch
      return number
    }
    settings.listener.workAdded()
    return number
  }

  /// Adds items that need no reading.
  func add(_ records: [ItemRecord], leavingBehind names: [[UInt8]] = []) {
    state.withLock { state in
      state.records += records
      for name in names { state.sum.lostAttributes.note(name) }
    }
    settings.listener.workAdded()
  }

  /// Whether each item of a batch is in a frame, or never will be.
  package func isRead(_ batch: WorkList.Batch) -> Bool { state.withLock { $0.list.isDone(batch) } }

  package var isRead: Bool { state.withLock { $0.isRead } }

  /// Waits until a batch has been read. Returns its first item that belongs to the archive and
  /// could not be sent.
  package func wait(for batch: WorkList.Batch) throws(Failure) -> NotStored? {
    try wait { $0.list.isDone(batch) }
    return forget(batch)
  }

  /// Forgets a batch that has been read. Returns its first item that belongs to the archive and
  /// could not be sent.
  func forget(_ batch: WorkList.Batch) -> NotStored? {
    state.withLock { state in
      precondition(state.list.isDone(batch), "a batch is forgotten after it has been read")
      return state.batches.removeValue(forKey: batch)?.firstUnsent
    }
  }

  /// Waits until every item has been read, and counts the directories that stay left out.
  package func waitUntilRead() throws(Failure) {
    try wait { $0.isRead }
    let count = state.withLock { state in
      let count = state.batches.keys.reduce(0) { $0 + (state.batches[$1]?.folders.take() ?? 0) }
      state.sum.leftOut.present += count
      return count
    }
    settings.listener.skipped(items: count, bytes: 0)
  }

  private func wait(_ isOver: (State) -> Bool) throws(Failure) {
    let end = state.wait { state -> Result<Void, Failure>? in
      if isStopped { return .failure(Self.stopped) }
      return state.failure.map { .failure($0) } ?? (isOver(state) ? .success(()) : nil)
    }
    try end?.get()
  }

  /// Throws the error that prevents further reading.
  package func check() throws(Failure) {
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  package func stop() {
    // A waiting thread that checked before that is waiting for the lock by now, and receives the
    // broadcast.
    state.withLock { _ in }
    state.broadcast()
  }

  /// The totals of the archive, as far as the readers have released their work.
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

  // Without specialization the methods of a generic class are compiled once for all places, and
  // each call in them looks up the type at run time.
  @_specialize(where Source == RealDirectory)
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

  /// An idle reader, preferably one with work in hand; nil if the limit of readers is reached.
  private func borrow() -> ArchiveReader<Source>? {
    let (idle, number) = state.withLock { state -> (ArchiveReader<Source>?, Int?) in
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

  private func giveBack(_ reader: ArchiveReader<Source>, hasWaited: Bool) {
    let sum = reader.packer.takeSum()
    let isRead = state.withLock { state in
      state.idle.append(reader)
      state.sum.add(sum)
      state.isDiskSlow = hasWaited
      return state.isRead
    }
    if isRead { state.broadcast() }
  }

  /// Whether filling a frame took longer than it would from memory, even on a busy machine.
  private static func isSlow(_ frame: FrameBuffer, _ seconds: Double) -> Bool {
    seconds > 1e-3 + 100e-6 * Double(frame.items) + 2e-9 * Double(frame.count)
  }

  private func exchange(_ frame: inout FrameBuffer, with other: consuming FrameBuffer) -> FrameBuffer {
    let taken = frame
    frame = other
    return taken
  }
}

// The methods that readers call.
extension ArchiveExport {
  func next(for reader: ArchiveReader<Source>, written: UInt64) -> WorkList.Work {
    let now = settings.now()
    return state.withLock { $0.list.next(for: reader.number, now: now, written: written) }
  }

  func takeRecord() -> ItemRecord? { state.withLock { $0.records.popLast() } }

  /// The source of a batch; nil once all of it has been read and forgotten: a run may consist only
  /// of directories that are already in the archive.
  func batch(_ number: WorkList.Batch) -> SourceBatch<Source>? { state.withLock { $0.batches[number]?.source } }

  func file(_ number: WorkList.FileNumber) -> LargeFile<Source.File> {
    guard let file = state.withLock({ $0.files[number] }) else { preconditionFailure("an open file is known") }
    return file
  }

  func postpone(_ item: WorkList.Item, _ tries: WorkList.Tries, until due: Double) {
    state.withLock { $0.list.postpone(item, tries, until: due) }
  }

  func changed(_ item: WorkList.Item, _ tries: WorkList.Tries, lastFrame: UInt64) {
    state.withLock { $0.list.changed(item, tries, lastFrame: lastFrame) }
  }

  func opened(_ file: LargeFile<Source.File>, after frame: UInt64?) -> WorkList.FileNumber {
    state.withLock { state in
      let number = state.list.opened(file.item, after: frame)
      state.files[number] = file
      return number
    }
  }

  /// Records that a reader has found no part of a file left to take, and stops reading it. Returns
  /// whether it was the file's last reader.
  func left(_ number: WorkList.FileNumber) -> Bool {
    state.withLock { state in
      state.list.exhausted(number)
      guard state.list.left(number) else { return false }
      state.files[number] = nil
      return true
    }
  }

  func carrier(_ item: WorkList.Item, _ generation: Generation) -> LinkedNames.Carrier {
    state.withLock { $0.batches[item.batch]?.links.carrier(item.index, generation) ?? .mine }
  }

  func sent(_ item: WorkList.Item, _ generation: Generation) {
    state.withLock { $0.batches[item.batch]?.links.sent(item.index, generation) }
  }

  /// Leaves a directory out, unless something in it is in the archive.
  func leavesOut(_ item: WorkList.Item) -> Bool {
    state.withLock { $0.batches[item.batch]?.folders.leaveOut(item.index) } ?? false
  }

  /// Records that an item with this parent is in the archive. Returns the left out directories above it,
  /// which are in the archive from now on.
  func needed(above parent: Int32, of number: WorkList.Batch) -> [Int] {
    state.withLock { state in
      state.batches[number].map { $0.source.tree }.flatMap { tree in
        state.batches[number]?.folders.need(parent) { tree.nodes[$0].parent }
      } ?? []
    }
  }

  func captured(_ item: WorkList.Item, _ generation: Generation) {
    state.withLock { $0.batches[item.batch]?.captured[item.index] = generation }
  }

  func leftOut(_ item: WorkList.Item, _ generation: Generation) {
    state.withLock { $0.batches[item.batch]?.uncaptured[item.index] = generation }
  }

  func released(_ item: WorkList.Item) {
    state.withLock { $0.batches[item.batch]?.links.released(item.index) }
  }

  func note(_ unsent: NotStored, of batch: WorkList.Batch) {
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
