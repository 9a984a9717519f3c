internal import MigrationSystem
internal import MigrationWire

/// What an exporter appends its app's items to.
///
/// One at a time: it belongs to the export that it was made for, and cannot be shared.
public final class ResourcesArchiver {
  private let destination: any ItemDestination

  init(_ destination: any ItemDestination) { self.destination = destination }

  /// Appends a file, or a directory with everything in it, hidden and empty items included, as it is now.
  ///
  /// Returns when it has been read, so that it may be removed or changed from then on. A symbolic link is appended as one,
  /// wherever it leads. Names are bytes: nothing is normalised. A name that is not UTF-8 can only be given as a
  /// percent-encoded URL (`file:///tmp/%FF`); Foundation's listings do not return such names, but a directory that is
  /// appended brings them along.
  ///
  /// Throws a `CocoaError` if the item cannot be read or its place is taken; nothing is appended then, and the archiver can
  /// be used further. Throws a `CancellationError` once the migration is over, which the exporter is to let through.
  /// - Parameters:
  ///   - url: where the item is; a file URL.
  ///   - pathInArchive: where it goes, relative to the directory that the importer is given; taken as it is. By default the
  ///     last component of `url`.
  public func appendItem(at url: URL, pathInArchive: String? = nil) async throws {
    let destination = destination
    // Files are opened, and answers waited for, on threads that may block. An export that the system called runs there.
    try await withTaskExecutorPreference(BlockingExecutor.shared) {
      try destination.refuseIfCancelled()
      let source = try url.fileSystemBytes()
      let path = try ArchivePath(checking: pathInArchive.map { Array($0.utf8) } ?? source.lastComponent)
      try destination.append(try destination.open(source), at: path)
    }
  }
}

extension ArchivePath {
  /// Says of a path that is none what Foundation says of a wrong file name.
  fileprivate init(checking bytes: [UInt8]) throws(CocoaError) {
    do {
      self = try ArchivePath(bytes)
    } catch {
      throw CocoaError(
        .fileWriteInvalidFileName, "\"\(EscapedText.describing(bytes))\" is no path within an archive",
        path: String(decoding: bytes, as: UTF8.self))
    }
  }
}
