internal import MigrationSystem
internal import MigrationWire

/// The archive to which an exporter appends its app's items.
///
/// It belongs to one export, and cannot be shared.
public final class ResourcesArchiver {
  private let destination: any ItemDestination

  init(_ destination: any ItemDestination) { self.destination = destination }

  /// Appends a file, or a directory with its whole contents, hidden and empty items included, in
  /// its present state.
  ///
  /// Returns when the item has been read; from then on the item may be removed or changed. A
  /// symbolic link is appended as a link, wherever it leads. Names are bytes: nothing is
  /// normalised. A name that is not UTF-8 can only be given as a percent-encoded URL
  /// (`file:///tmp/%FF`); Foundation's listings do not return such names, but an appended directory
  /// includes them.
  ///
  /// Throws a `CocoaError` if the item cannot be read or its path is taken. It then appends
  /// nothing, and the archiver can still be used. Throws a `CancellationError` once the migration
  /// has ended; the exporter has to let this error through.
  /// - Parameters:
  ///   - url: the place of the item; a file URL.
  ///   - pathInArchive: the item's path, relative to the importer's directory; used verbatim
  ///     (default: the last component of `url`).
  public func appendItem(at url: URL, pathInArchive: String? = nil) async throws {
    let destination = destination
    // Opening files and waiting for answers need threads that may block. An export that the system
    // called runs on such threads.
    try await withTaskExecutorPreference(BlockingExecutor.shared) {
      try destination.refuseIfCancelled()
      let source = try url.fileSystemBytes()
      let path = try ArchivePath(checking: pathInArchive.map { Array($0.utf8) } ?? source.lastComponent)
      try destination.append(try destination.open(source), at: path)
    }
  }
}

extension ArchivePath {
  /// Throws Foundation's error for a wrong file name if the path is invalid.
  fileprivate init(checking bytes: [UInt8]) throws(CocoaError) {
    do {
      self = try ArchivePath(bytes)
    } catch {
      throw CocoaError(
        .fileWriteInvalidFileName, "\"\(EscapedText.describing(bytes))\" is not a path within an archive",
        path: String(decoding: bytes, as: UTF8.self))
    }
  }
}
