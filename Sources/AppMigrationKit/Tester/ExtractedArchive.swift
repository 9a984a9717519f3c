internal import MigrationArchive
internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// A tested export's archive. Appended items pass the same frames and the same staging as between
/// two devices.
final class ExtractedArchive: Sendable {
  private struct Assembly {
    let staging: Staging
    let export: ArchiveExport<AppendedPlace>
    let appender: ItemAppender
    let reader: ExtractingReader
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
    let keys = TransferKeys(tagKey: .random(in: 0...UInt128.max), hashKey: .random(in: 0...UInt128.max))
    let app = AppIdentity(bundleIdentifier: "", store: "", platform: "", version: "")
    let offer = Offer(
      transfer: nil, contents: .app(app), items: UInt64(UInt32.max), bytes: Limits.fileSize, allocated: 0,
      flags: .estimated)
    let staging = try Staging(on: UnsyncedDisk(disk), for: offer, transfer: 0, keys: keys)
    let export = ArchiveExport<AppendedPlace>(
      ExportSettings(listener: ExtractionListener(), keys: keys, held: HeldItems(), readers: 1) {
        SipSealer(key: keys.tagKey)
      })
    let reader = ExtractingReader(
      export, to: StagingWriter(staging, sealer: SipSealer(key: keys.tagKey)),
      compression: isCompressible ? CompressedSize() : nil, isCancelled: isCancelled)
    assembly = Mutex(
      Assembly(staging: staging, export: export, appender: ItemAppender(export: export), reader: reader))
  }

  /// Appends an item; returns when it has been read.
  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
    var item = Optional(item)
    do throws(ArchiveError) {
      try assembly.withLock { assembly throws(ArchiveError) in
        guard let item = item.take() else { return }
        switch consume item {
        case .open(let descriptor):
          let append = try assembly.appender.begin(descriptor, at: path.bytes)
          try assembly.reader.read { assembly.appender.isRead(append) }
          try assembly.appender.end(append)
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
      assembly.appender.finish()
      try assembly.reader.read { assembly.export.isRead }
      let finish = assembly.export.result.finish
      try assembly.staging.complete(finish) { _ in }
      let plain = Int(finish.total.bytes)
      // A file that changed while it was read has more bytes in the frames than in the archive.
      return (plain, assembly.reader.compressedSize.map { min($0, plain) })
    }
  }
}
