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
  init(openingOrMaking path: [UInt8]) throws(Failure) {
    self.path = path
    var failure: SystemError?
    do {
      try Directory.make(path, mode: 0o777)
    } catch {
      // A directory may exist where none can be created.
      failure = error.isAlreadyExisting ? nil : error
    }
    directory = try SystemError.mapped(SharedDirectory(try Directory.open(path))) {
      Failure(
        .unfit, "the destination \(VisibleText.quoted(path)) cannot be \(failure == nil ? "used" : "created")",
        name: path, cause: failure ?? $0)
    }
    try Failure.wrapping(
      .unfit, "the destination \(VisibleText.quoted(path)) cannot be written to", name: path,
      directory.directory.checkWritable())
  }

  /// Fails if the path leads elsewhere by now. On a file system that makes up another inode at each
  /// look, any directory there will do.
  func checkPlace(_ code: Failure.Code = .unfit) throws(Failure) {
    let looks = (0..<2).map { _ in try? Directory.open(path).status() }
    if let status = try? directory.directory.status(), let first = looks[0], let second = looks[1],
      first.isSame(as: status) || !first.isSame(as: second)
    {
      return
    }
    let place = (try? directory.directory.canonicalPath()).map {
      "; the received items are in \(VisibleText.quoted($0))"
    }
    throw Failure(
      code,
      "the destination \(VisibleText.quoted(path)) was moved or removed, or something else is in its place"
        + (place ?? ""),
      hint: DataHint.putBack.text, name: path)
  }

  /// The space on its file system.
  func space() throws(Failure) -> FileSystemSpace {
    try Failure.wrapping(
      .unfit, "the free space at \(VisibleText.quoted(path)) cannot be determined", name: path,
      FileSystemSpace.of(directory.directory.descriptor))
  }

  /// The first of the paths that is taken.
  func taken(of paths: [ArchivePath]) throws(Failure) -> [UInt8]? {
    for path in paths {
      do {
        if try !DirectoryDisk.directory(of: path, in: directory).directory.isFree(path.name) { return path.bytes }
      } catch  where error.isNotFound {
        // The directory that it is in does not exist.
      } catch {
        throw Failure(
          .unfit, "the destination cannot hold \(VisibleText.quoted(path))", name: path.bytes, cause: error)
      }
    }
    return nil
  }

  /// Its absolute path, found anew: a directory that has been open for a while has none on some file
  /// systems (9p).
  func canonicalPath() throws(Failure) -> [UInt8] {
    try Failure.wrapping(
      .unfit, "the destination \(VisibleText.quoted(path)) cannot be used", name: path,
      Directory.open(path).canonicalPath())
  }
}
