import MigrationSystem
import MigrationWire

/// The frame that collects an exporter's small items while the exporter appends them.
///
/// Handing each item to a reader would cost both ends more than sending its content: threads to
/// wake, and one frame per item. The thread that adds the item reads it instead. A frame is sent
/// when it is full, or when it has waited long enough for more items.
struct GrowingFrame<Source: SourceDirectory>: Sendable {
  /// The seconds for which the first item in a frame may wait for more items.
  static var patience: Double { 0.01 }
  /// How many full frames may wait to be sent: beyond that, the readers take the added items, and
  /// the thread that adds them waits for the readers.
  static var most: Int { 4 }

  /// Created at the first use.
  var reader: ArchiveReader<Source>?
  /// When the first item was added to the current frame; nil while it is empty.
  var begun: Double?
  /// The frames to send.
  var full: [FrameBuffer] = []
  /// Memory for the next frame.
  var spare: FrameBuffer?
}

extension ArchiveExport {
  /// Adds one small item, and reads it at once if the frame has room for it.
  func addSmall(_ source: SourceBatch<Source>) -> WorkList.Batch {
    let batch = Batch(source: source.checked(by: settings))
    let number = growing.withLock { growing -> WorkList.Batch? in
      guard let reader = makeRoom(for: source.tree.total.bytes, &growing) else { return nil }
      let number = state.withLock { state in
        let number = state.list.add(source.tree, areTaken: true)
        state.batches[number] = batch
        return number
      }
      reader.add(WorkList.Item(batch: number, index: 0), WorkList.Tries(), in: batch.source)
      reader.rest()
      note(reader, &growing)
      return number
    }
    guard let number else { return add(source) }
    // An item that changes, or changed too recently, is tried again later.
    if !isRead(number) { settings.listener.workAdded() }
    return number
  }

  /// Adds the record of an item that needs no reading.
  func addSmall(_ record: ItemRecord) {
    let isAdded = growing.withLock { growing in
      guard let reader = makeRoom(for: 0, &growing) else { return false }
      reader.packer.add(record)
      note(reader, &growing)
      return true
    }
    if !isAdded { add([record]) }
  }

  /// Records that no more items follow, so that the frame need not wait for any.
  func endGrowing() {
    growing.withLock { growing in
      if let reader = growing.reader { close(reader, &growing) }
    }
  }

  /// The reader whose frame has room; nil if the other readers are to read the item.
  private func makeRoom(for size: UInt64, _ growing: inout GrowingFrame<Source>) -> ArchiveReader<Source>? {
    guard !isStopped, size <= UInt64(settings.sizes.smallFile) else { return nil }
    if let reader = growing.reader, !reader.packer.hasRoom(for: size) { close(reader, &growing) }
    guard growing.full.count < GrowingFrame<Source>.most else { return nil }
    if growing.reader == nil {
      // If creating the reader fails, the other readers meet the same error and report it.
      guard let reader = try? ArchiveReader(0, isGrowing: true, of: self) else { return nil }
      reader.packer.begin(FrameBuffer(capacity: settings.sizes.frameCapacity))
      growing.reader = reader
    }
    return growing.reader
  }

  /// Updates the totals after an item has been added to the frame.
  private func note(_ reader: ArchiveReader<Source>, _ growing: inout GrowingFrame<Source>) {
    let sum = reader.packer.takeSum()
    let isFirst = growing.begun == nil && !reader.packer.isEmpty
    state.withLock { state in
      state.sum.add(sum)
      if isFirst { state.grown += 1 }
    }
    guard isFirst else { return }
    growing.begun = settings.now()
    // The sending thread learns until when it has to wait.
    settings.listener.workAdded()
  }

  /// Moves the frame to the frames that are ready to send.
  private func close(_ reader: ArchiveReader<Source>, _ growing: inout GrowingFrame<Source>) {
    guard growing.begun != nil else { return }
    growing.full.append(reader.packer.end())
    reader.packer.begin(growing.spare.take() ?? FrameBuffer(capacity: settings.sizes.frameCapacity))
    growing.begun = nil
    settings.listener.workAdded()
  }

  /// Exchanges an empty frame for a full one; false if there is none, or only one that is being
  /// filled.
  func takeFull(_ frame: inout FrameBuffer) -> Bool {
    let isTaken = growing.withLockIfAvailable { growing in
      guard !growing.full.isEmpty else { return false }
      exchange(&frame, with: growing.full.removeFirst(), &growing)
      return true
    }
    if isTaken == true { countTaken() }
    return isTaken == true
  }

  /// Takes the growing frame if it has waited long enough; otherwise returns when it will have.
  func takeGrown(_ frame: inout FrameBuffer, or moment: Double?) -> FrameFilling {
    let now = settings.now()
    // The thread that holds the lock is adding an item now.
    var due: Double? = now + GrowingFrame<Source>.patience
    let isTaken = growing.withLockIfAvailable { growing in
      due = growing.begun.map { $0 + GrowingFrame<Source>.patience }
      if growing.full.isEmpty {
        guard let reader = growing.reader, let end = due, end <= now else { return false }
        close(reader, &growing)
      }
      exchange(&frame, with: growing.full.removeFirst(), &growing)
      return true
    }
    guard isTaken == true else { return .nothing(until: [moment, due].compactMap(\.self).min()) }
    countTaken()
    return .full
  }

  private func exchange(
    _ frame: inout FrameBuffer, with full: consuming FrameBuffer, _ growing: inout GrowingFrame<Source>
  ) {
    full.number = frame.number
    growing.spare = frame
    frame = full
  }

  private func countTaken() {
    let isRead = state.withLock { state in
      state.grown -= 1
      return state.isRead
    }
    if isRead { state.broadcast() }
  }
}
