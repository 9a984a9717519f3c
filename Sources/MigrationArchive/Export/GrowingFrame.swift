import MigrationSystem
import MigrationWire
import Synchronization

/// The frame that an exporter's small items are read into while it appends them, one after the other.
///
/// Handing each of them to a reader would cost both ends more than what is in it: threads to be woken, and a frame of its own.
/// The thread that adds the item reads it instead. A frame goes when it is full, or when it has waited long enough for more.
struct GrowingFrame<Place: SourceDirectory>: Sendable {
  /// How long the first item in a frame may wait for others, in seconds.
  static var patience: Double { 0.01 }
  /// How many frames may wait to be sent: then the readers take what is added, and the thread that adds it waits for them.
  static var most: Int { 4 }

  /// Made when it is first needed.
  var reader: ArchiveReader<Place>?
  /// When the first item came into the frame in hand; nil while it is empty.
  var begun: Double?
  /// What is to be sent.
  var full: [FrameBuffer] = []
  /// Memory for the next one.
  var spare: FrameBuffer?
}

extension ArchiveExport {
  /// Adds one small item, and reads it at once if there is room for it.
  func addSmall(_ source: SourceBatch<Place>) -> WorkList.Batch {
    let batch = Batch(source: source.lacking(settings.traits))
    let number = growing.withLock { growing -> WorkList.Batch? in
      guard let reader = makeRoom(for: source.tree.total.bytes, &growing) else { return nil }
      let number = state.withLock { state in
        let number = state.list.addTaken(source.tree)
        state.batches[number] = batch
        return number
      }
      reader.add(WorkList.Item(batch: number, index: 0), WorkList.Tries(), in: batch.source)
      reader.rest()
      note(reader, &growing)
      return number
    }
    guard let number else { return add(source) }
    // What changes, or is too young, comes again.
    if !isRead(number) { settings.listener.workAdded() }
    return number
  }

  /// Adds the record of an item that nothing is read for.
  func addSmall(_ record: ItemRecord) {
    let isAdded = growing.withLock { growing in
      guard let reader = makeRoom(for: 0, &growing) else { return false }
      reader.packer.add(record)
      note(reader, &growing)
      return true
    }
    if !isAdded { add([record]) }
  }

  /// Nothing is added any more for which the frame should wait.
  func endGrowing() {
    growing.withLock { growing in
      if let reader = growing.reader { close(reader, &growing) }
    }
  }

  /// The reader, whose frame has room; nil where the others are to do it.
  private func makeRoom(for size: UInt64, _ growing: inout GrowingFrame<Place>) -> ArchiveReader<Place>? {
    guard !isStopped, size <= UInt64(settings.sizes.smallFile) else { return nil }
    if let reader = growing.reader, !reader.packer.hasRoom(for: size) { close(reader, &growing) }
    guard growing.full.count < GrowingFrame<Place>.most else { return nil }
    if growing.reader == nil {
      // Where none can be made the others find out, and say so.
      guard let reader = try? ArchiveReader(0, isGrowing: true, of: self) else { return nil }
      reader.packer.begin(FrameBuffer(capacity: settings.sizes.frameCapacity))
      growing.reader = reader
    }
    return growing.reader
  }

  /// Takes note of what came into the frame.
  private func note(_ reader: ArchiveReader<Place>, _ growing: inout GrowingFrame<Place>) {
    let sum = reader.packer.takeSum()
    let isFirst = growing.begun == nil && !reader.packer.isEmpty
    state.withLock { state in
      state.sum.add(sum)
      if isFirst { state.grown += 1 }
    }
    guard isFirst else { return }
    growing.begun = settings.now()
    // Who sends it is told until when it waits.
    settings.listener.workAdded()
  }

  /// Puts the frame among those that are to be sent.
  private func close(_ reader: ArchiveReader<Place>, _ growing: inout GrowingFrame<Place>) {
    guard growing.begun != nil else { return }
    growing.full.append(reader.packer.end())
    reader.packer.begin(growing.spare.take() ?? FrameBuffer(capacity: settings.sizes.frameCapacity))
    growing.begun = nil
    settings.listener.workAdded()
  }

  /// Takes a frame that is full, in the place of an empty one; false if there is none, or just one in the making.
  func takeFull(_ frame: inout FrameBuffer) -> Bool {
    let isTaken = growing.withLockIfAvailable { growing in
      guard !growing.full.isEmpty else { return false }
      exchange(&frame, with: growing.full.removeFirst(), &growing)
      return true
    }
    if isTaken == true { countTaken() }
    return isTaken == true
  }

  /// Takes the frame that grows, if it has waited long enough; else says when it will have.
  func takeGrown(_ frame: inout FrameBuffer, or moment: Double?) -> FrameFilling {
    let now = settings.now()
    // Who has the lock adds something to it now.
    var due: Double? = now + GrowingFrame<Place>.patience
    let isTaken = growing.withLockIfAvailable { growing in
      due = growing.begun.map { $0 + GrowingFrame<Place>.patience }
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
    _ frame: inout FrameBuffer, with full: consuming FrameBuffer, _ growing: inout GrowingFrame<Place>
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
