internal import MigrationArchive
internal import MigrationSystem
internal import MigrationWire
internal import Synchronization

/// Hands packed frames to staging at once.
final class ExtractingOutlet: FrameOutlet {
  private struct State {
    let writer: StagingWriter
    let compression: CompressedSize?
    /// Memory of a frame that has been written.
    var spare: FrameBuffer?
  }

  private let state: Mutex<State>

  init(_ writer: sending StagingWriter, compression: sending CompressedSize?) {
    state = Mutex(State(writer: writer, compression: compression, spare: nil))
  }

  /// What the contents of the frames so far come to compressed; nil where they are not to be.
  var compressedSize: Int? { state.withLock { $0.compression?.total } }

  /// Asked within the export's task.
  var isStopped: Bool { Task.isCancelled }

  /// Never set: an exporter in this process is cancelled with its task.
  let stopSignal = StopSignal()

  func buffer() throws(ArchiveError) -> FrameBuffer {
    if isStopped { throw ArchiveError(.stopped, "the export was cancelled") }
    return state.withLock { $0.spare.take() } ?? FrameBuffer(capacity: Limits.plainLength)
  }

  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    var frame = frame
    try state.withLock { state throws(ArchiveError) in
      do {
        try state.writer.write(frame.bytes.span, entries: 0..<frame.count)
        try state.compression?.add(frame)
      } catch let error as ArchiveError {
        throw error
      } catch {
        throw ArchiveError(.storage, "the archive contradicts itself: \(error)")
      }
      frame.removeAll()
      state.spare = frame
    }
  }

  func drain() throws(ArchiveError) {}
  // Appends run on threads that may block; the pauses are those of a file that does not hold still.
  func pause(seconds: Double) throws(ArchiveError) {
    if isStopped { throw ArchiveError(.stopped, "the export was cancelled") }
    Thread.sleep(forTimeInterval: seconds)
  }
  // The exporter is told by an error.
  func unsent(_ unsent: Unsent) throws(ArchiveError) {}
  func skipped(items: UInt64, bytes: UInt64) {}
}
