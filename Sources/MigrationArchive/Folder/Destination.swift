import MigrationSystem
import MigrationWire

/// The directory that receives: held open, so that it stays the same one wherever its path leads
/// later.
struct Destination: Sendable {
  /// The path that the user named.
  let path: [UInt8]
  let directory: SharedDirectory

  /// Opens the directory, after creating it if it is missing. Fails unless this process may write
  /// to it.
  init(openingOrMaking path: [UInt8]) throws(ArchiveError) {
    self.path = path
    var failure: SystemError?
    do {
      try Directory.make(path, mode: 0o777)
    } catch {
      // A directory may exist where none can be created.
      failure = error.isAlreadyExisting ? nil : error
    }
    directory = try SystemError.mapped(SharedDirectory(try Directory.open(path))) {
      ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be \(failure == nil ? "used" : "created")",
        name: path, cause: failure ?? $0)
    }
    try SystemError.mapped(directory.directory.checkWritable()) {
      ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be written to", name: path, cause: $0)
    }
  }

  /// Fails if the path leads elsewhere by now. On a file system that makes up another inode at each
  /// look, any directory there will do.
  func checkPlace(_ code: ArchiveError.Code = .destination) throws(ArchiveError) {
    let looks = (0..<2).map { _ in try? Directory.open(path).status() }
    if let status = try? directory.directory.status(), let first = looks[0], let second = looks[1],
      first.isSame(as: status) || !first.isSame(as: second)
    {
      return
    }
    let place = (try? directory.directory.canonicalPath()).map {
      "; the received items are in \(VisibleText.quoted($0))"
    }
    throw ArchiveError(
      code,
      "the destination \(VisibleText.quoted(path)) was moved or removed, or something else is in its place"
        + (place ?? ""),
      hint: DataHint.putBack.text, name: path)
  }

  /// The space on its file system.
  func space() throws(ArchiveError) -> FileSystemSpace {
    try SystemError.mapped(FileSystemSpace.of(directory.directory.descriptor)) {
      ArchiveError(
        .destination, "the free space at \(VisibleText.quoted(path)) cannot be determined", name: path, cause: $0)
    }
  }

  /// The first of the paths that is taken.
  func taken(of paths: [ArchivePath]) throws(ArchiveError) -> [UInt8]? {
    for path in paths {
      do {
        if try !DirectoryDisk.directory(of: path, in: directory).directory.isFree(path.name) { return path.bytes }
      } catch  where error.isNotFound {
        // The directory that it is in does not exist.
      } catch {
        throw ArchiveError(
          .destination, "the destination cannot hold \(VisibleText.quoted(path))", name: path.bytes, cause: error)
      }
    }
    return nil
  }

  /// Its absolute path, found anew: a directory that has been open for a while has none on some file
  /// systems (9p).
  func canonicalPath() throws(ArchiveError) -> [UInt8] {
    try SystemError.mapped(Directory.open(path).canonicalPath()) {
      ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be used", name: path, cause: $0)
    }
  }
}
