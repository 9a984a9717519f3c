import MigrationSystem
import MigrationWire

/// Reads the items that the work list hands out, and packs them into one frame after another.
///
/// Unchecked: one thread uses it at a time; the export lends it out, and takes it back after each
/// frame.
final class ArchiveReader<Place: SourceDirectory>: @unchecked Sendable {
  typealias Export = ArchiveExport<Place>

  let number: WorkList.Reader
  /// Whether its frame grows by one small item at a time, and gets its number when it is sent.
  let isGrowing: Bool
  let packer: FramePacker
  unowned let export: Export
  /// The next items of a batch.
  var run: (number: WorkList.Batch, batch: SourceBatch<Place>, items: Range<Int>)?
  /// The large file that it reads parts of, and the rest of the current part.
  var file: (number: WorkList.FileNumber, file: LargeFile<Place.File>, rest: LargeFile<Place.File>.Part?)?
  /// The directory of the last item; the next item is usually in the same directory.
  private var current: (batch: WorkList.Batch, parent: Int32, directory: Place, path: ArchivePath?)?
  /// The number of items of the run that are done.
  private var done = 0
  var readAhead = ReadAhead()
  /// The directory of the files that have been requested from the disk ahead of time.
  var ahead: (batch: WorkList.Batch, parent: Int32, directory: Place)?

  init(_ number: WorkList.Reader, isGrowing: Bool = false, of export: Export) throws(ArchiveError) {
    self.number = number
    self.isGrowing = isGrowing
    self.export = export
    packer = try FramePacker(export.settings)
  }

  /// Whether it has work in progress.
  var isReading: Bool { run != nil || file != nil }

  /// Releases the directories that may have no more items.
  func rest() {
    guard !isReading else { return }
    (current, ahead) = (nil, nil)
  }

  /// Fills the current frame. If it stays empty, returns the time at which there may be data.
  func fill(written: UInt64) -> Double? {
    let begun = export.settings.now()
    while !export.isStopped {
      if file != nil {
        guard readFile() else { return nil }
      } else if let next = run {
        guard add(next) else { return nil }
      } else if let record = export.takeRecord() {
        packer.add(record)
      } else {
        switch export.next(for: self, written: written) {
        case .run(let number, let items):
          if let batch = export.batch(number) { run = (number, batch, items) }
        case .again(let item, let tries):
          if let batch = export.batch(item.batch) { add(item, tries, in: batch) }
        case .file(let number): file = (number, export.file(number), nil)
        case .nothing(let moment): return moment
        }
      }
      if !packer.hasRoom(for: 0) { return nil }
      if isLong(since: begun) { return begun }
    }
    return nil
  }

  /// Whether reading takes so long that the data read so far should be sent now.
  private func isLong(since begun: Double) -> Bool { export.settings.now() - begun > Self.patience }

  /// The longest time for filling a frame, in seconds, so that data that has been read is sent
  /// soon.
  private static var patience: Double { 0.05 }

  /// Adds items of a run; false if the next item fits better into another frame.
  private func add(_ run: (number: WorkList.Batch, batch: SourceBatch<Place>, items: Range<Int>)) -> Bool {
    var items = run.items
    defer {
      export.done(done, of: run.number)
      done = 0
      self.run = items.isEmpty ? nil : (run.number, run.batch, items)
    }
    let begun = export.settings.now()
    while let index = items.first, !export.isStopped {
      guard packer.hasRoom(for: run.batch.tree.nodes[index].countedSize.clamped(to: packer.sizes.smallFile)) else {
        return false
      }
      items.removeFirst()
      if !run.batch.merged.contains(index) {
        add(WorkList.Item(batch: run.number, index: index), WorkList.Tries(), in: run.batch)
      }
      if file != nil { break }
      if isLong(since: begun) { break }
    }
    return true
  }

  /// Records that an item is in the archive, or never will be.
  func done(_ item: WorkList.Item) {
    if item.batch == run?.number { done += 1 } else { export.done(1, of: item.batch) }
  }

  // MARK: Directories

  /// Opens the parent directory of an item, unless the last item had the same parent.
  func enter(_ parent: Int32, of item: WorkList.Item, in batch: SourceBatch<Place>) throws -> Place {
    if let current, current.batch == item.batch, current.parent == parent { return current.directory }
    let directory = try batch.open(parent)
    current = (item.batch, parent, directory, parent < 0 ? nil : try batch.tree.path(Int(parent)))
    return directory
  }

  /// The path of an item in the directory that was opened last.
  func itemPath(_ name: ArraySlice<UInt8>, in batch: SourceBatch<Place>) throws(Violation) -> ArchivePath {
    let inner: ArchivePath
    if let path = current?.path {
      inner = try path.appending(name.span)
    } else if let prefix = batch.prefix {
      return try prefix.appending(name.span)
    } else {
      return try ArchivePath(Array(name))
    }
    return try batch.prefix?.appending(inner) ?? inner
  }
}

extension UInt64 {
  fileprivate func clamped(to most: Int) -> UInt64 { Swift.min(self, UInt64(most)) }
}
