internal import MigrationArchive
internal import MigrationSystem
internal import MigrationWire

/// Reads an export, and passes its frames to staging at once.
final class ExtractingReader {
  private let source: any FrameSource
  private let writer: StagingWriter
  private let compression: CompressedSize?
  private let isCancelled: @Sendable () -> Bool
  private var frame = FrameBuffer(capacity: ArchiveSizes().frameCapacity)

  init(
    _ source: any FrameSource, to writer: StagingWriter, compression: CompressedSize?,
    isCancelled: @escaping @Sendable () -> Bool
  ) {
    self.source = source
    self.writer = writer
    self.compression = compression
    self.isCancelled = isCancelled
  }

  /// The compressed size of the frames' contents so far; nil if the extension forbids compression.
  var compressedSize: Int? { compression?.total }

  /// Reads until `isOver`; throws when the export is cancelled.
  func read(until isOver: () -> Bool) throws(ArchiveError) {
    while !isOver() {
      if isCancelled() { throw ArchiveError(.stopped, "the export was cancelled") }
      frame.number += 1
      // All earlier data is already written.
      switch source.fill(&frame, written: frame.number) {
      case .full: try write()
      case .nothing(let moment):
        // Appends run on threads that may block; the pauses wait for a file that keeps changing.
        Thread.sleep(forTimeInterval: min(max(0, (moment ?? 0) - BootInstant.now().seconds), Self.longestPause))
      }
    }
  }

  /// The longest delay of a cancellation.
  private static let longestPause = 0.1

  private func write() throws(ArchiveError) {
    let filled = frame
    do {
      try writer.write(filled.bytes.span, entries: 0..<filled.count)
      try compression?.add(filled)
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.storage, "the archive contradicts itself: \(error)")
    }
    frame.removeAll()
  }
}

/// The listener for an exporter in this process, which only gets errors.
final class ExtractionListener: ExportListener {
  /// It is never set: an exporter in this process is cancelled with the test's task.
  let stopSignal = StopSignal()
  func unsent(_ unsent: Unsent) {}
  func skipped(items: UInt64, bytes: UInt64) {}
}
