internal import MigrationArchive
internal import MigrationHost
internal import MigrationSystem
import MigrationWire
internal import MigrationWire

/// A tested export's archive. Appended items pass the same frames and the same staging as between
/// two devices.
final class ExtractedArchive: Sendable {
  private struct Assembly {
    let staging: Staging
    let export: ArchiveExport<RealDirectory>
    let appender: ItemAppender
    let writer: StagingWriter
    /// Nil if the extension forbids compression.
    let compression: CompressedSize?
    let isCancelled: @Sendable () -> Bool
    var frame = FrameBuffer(capacity: ArchiveSizes().frameCapacity)
    /// The longest delay of a cancellation.
    static let longestPause = 0.1

    /// Reads the export, and passes its frames to staging at once, until `isOver`; throws when the export is
    /// cancelled.
    mutating func read(until isOver: () -> Bool) throws(Failure) {
      while !isOver() {
        if isCancelled() { throw Failure(.stopped, "the export was cancelled") }
        frame.number += 1
        // All earlier data is already written.
        switch export.fill(&frame, written: frame.number) {
        case .full: try write()
        case .nothing(let moment):
          // Appends run on threads that may block; the pauses wait for a file that keeps changing.
          Thread.sleep(forTimeInterval: min(max(0, (moment ?? 0) - BootInstant.now().seconds), Self.longestPause))
        }
      }
    }

    mutating func write() throws(Failure) {
      let filled = frame
      do {
        try writer.write(filled.bytes.span, entries: 0..<filled.count)
        try compression?.add(filled)
      } catch let error as Failure {
        throw error
      } catch {
        throw Failure(.storage, "the archive contradicts itself: \(error)")
      }
      frame.removeAll()
    }
  }

  /// The directory with the extracted items.
  let root: URL
  private let assembly: Mutex<Assembly>
  private let progress: @Sendable (UInt64) -> Void

  /// Starts an archive in a directory; it reports the bytes of contents so far to `progress`. When
  /// the export is cancelled, it stops reading the current item.
  init(
    in directory: TemporaryDirectory, isCompressible: Bool, isCancelled: @escaping @Sendable () -> Bool,
    progress: @escaping @Sendable (UInt64) -> Void
  ) throws {
    let name = "archive"
    let parent = SharedDirectory(try Directory.open(directory.path))
    let disk = try DirectoryDisk(making: Array(name.utf8), in: parent)
    root = URL(directory: "\(directory.path)/\(name)/tree")
    self.progress = progress
    let keys = TransferKeys(hashKey: .random(in: 0...UInt128.max))
    let staging = try Staging(ofExportOn: UnsyncedDisk(disk), keys: keys)
    let export = ArchiveExport<RealDirectory>(
      ExportSettings(listener: Listener(), keys: keys, held: HeldItems(), readers: 1))
    assembly = Mutex(
      Assembly(
        staging: staging, export: export, appender: ItemAppender(export: export), writer: StagingWriter(staging),
        compression: isCompressible ? CompressedSize() : nil, isCancelled: isCancelled))
  }

  /// Appends an item; returns when it has been read.
  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
    var item = Optional(item)
    do throws(Failure) {
      try assembly.withLock { assembly throws(Failure) in
        guard let item = item.take() else { return }
        switch consume item {
        case .open(let descriptor):
          let appender = assembly.appender
          let append = try appender.begin(descriptor, at: path.bytes)
          try assembly.read { appender.isRead(append) }
          try appender.end(append)
        case .symbolicLink(let target, let modified):
          try assembly.appender.appendLink(target: target, modified: modified, at: path.bytes)
        }
      }
    } catch {
      throw error.code == .stopped ? CancellationError() : ReportedError(appending: error).thrownError
    }
    progress(assembly.withLock { $0.export.result.finish.total.bytes })
  }

  /// Completes the archive; returns the size of the contents, plain and compressed.
  func finish() throws -> (uncompressed: Int, compressed: Int?) {
    try assembly.withLock { assembly in
      let export = assembly.export
      assembly.appender.finish()
      try assembly.read { export.isRead }
      let finish = export.result.finish
      try assembly.staging.complete(finish) { _ in }
      let plain = Int(finish.total.bytes)
      // A file that changed while it was read has more bytes in the frames than in the archive.
      return (plain, assembly.compression.map { min($0.total, plain) })
    }
  }

  /// The listener for an exporter in this process, which only gets errors.
  final class Listener: ExportListener {
    /// It is never set: an exporter in this process is cancelled with the test's task.
    let stopSignal = StopSignal()
    func unsent(_ unsent: NotStored) {}
    func skipped(items: UInt64, bytes: UInt64) {}
  }

  /// Adds up the compressed size of the contents in frames; a frame that does not shrink counts with
  /// its plain size.
  final class CompressedSize {
    private(set) var total = 0
    private let compressor = Zstandard()
    private var contents: [UInt8] = []
    private var buffer: [UInt8] = []

    func add(_ frame: borrowing FrameBuffer) throws(Violation) {
      contents.removeAll(keepingCapacity: true)
      var reader = EntryReader(0..<frame.count)
      while let entry = try reader.next(frame.bytes.span) {
        switch entry {
        case .item(_, let content?): contents += frame.bytes[content.data]
        case .chunk(_, _, let data): contents += frame.bytes[data]
        case .item(_, nil), .hole, .base: break
        }
      }
      total += compressedSize ?? contents.count
    }

    /// Nil if the contents would not shrink, or if no compressor is available.
    private var compressedSize: Int? {
      guard contents.count > 1 else { return nil }
      // Only a smaller result is of interest.
      if buffer.count < contents.count { buffer = [UInt8](repeating: 0, count: contents.count) }
      let size = compressor?.compress(contents.span, into: &buffer)
      return size.flatMap { $0 < contents.count ? $0 : nil }
    }
  }
}
