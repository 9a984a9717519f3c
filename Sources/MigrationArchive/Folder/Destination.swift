import MigrationSystem
import MigrationWire

/// The directory that receives folders. If it does not exist, it is created when the first offer is
/// accepted.
struct Destination: Sendable {
  let path: [UInt8]

  /// Opens the directory, or its parent if the directory does not exist yet.
  private func openNearest() throws(ArchiveError) -> (SharedDirectory, exists: Bool) {
    do {
      return (SharedDirectory(try Directory.open(path)), true)
    } catch  where error.isNotFound {
      return (try openParent(), false)
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be used", name: path, cause: error)
    }
  }

  private func openParent() throws(ArchiveError) -> SharedDirectory {
    var trimmed = path[...]
    while trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
    var parent = trimmed
    while let last = parent.last, last != UInt8(ascii: "/") { parent.removeLast() }
    do throws(SystemError) {
      let directory = SharedDirectory(try Directory.open(parent.isEmpty ? Array(".".utf8)[...] : parent))
      // The name exists and points to nothing; a name that is invalid can never exist.
      if try !directory.directory.isFree(trimmed[parent.endIndex...]) {
        throw SystemError(reason: "it is a dangling symbolic link", operation: "open")
      }
      return directory
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be created", name: path, cause: error)
    }
  }

  /// Fails unless the directory exists and is writable, or can be created.
  func check() throws(ArchiveError) {
    let (directory, _) = try openNearest()
    do {
      try directory.directory.checkWritable()
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be written to", name: path, cause: error)
    }
  }

  /// The space on its file system.
  func space() throws(ArchiveError) -> FileSystemSpace {
    let (directory, _) = try openNearest()
    do {
      return try FileSystemSpace.of(directory.directory.descriptor)
    } catch {
      throw ArchiveError(
        .destination, "the free space at \(VisibleText.quoted(path)) cannot be determined", name: path, cause: error)
    }
  }

  /// The first of the names that is taken.
  func taken(of names: [[UInt8]]) throws(ArchiveError) -> [UInt8]? {
    let (directory, exists) = try openNearest()
    guard exists else { return nil }
    for name in names {
      do {
        _ = try directory.directory.status(name)
        return name
      } catch  where error.isNotFound {
        continue
      } catch {
        throw ArchiveError(
          .destination, "the destination cannot hold \(VisibleText.quoted(name))", name: name, cause: error)
      }
    }
    return nil
  }

  /// The absolute path, even if the directory does not exist yet.
  func canonicalPath() throws(ArchiveError) -> [UInt8] {
    let (directory, exists) = try openNearest()
    do throws(SystemError) {
      let base = try directory.directory.canonicalPath()
      guard !exists else { return base }
      var trimmed = path[...]
      while trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
      let name = trimmed.lastIndex(of: UInt8(ascii: "/")).map { trimmed[($0 + 1)...] } ?? trimmed
      return base + (base.count > 1 ? [UInt8(ascii: "/")] : []) + name
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be used", name: path, cause: error)
    }
  }

  /// Opens the directory; nil if it does not exist yet.
  func openIfThere() throws(ArchiveError) -> SharedDirectory? {
    let (directory, exists) = try openNearest()
    return exists ? directory : nil
  }

  /// Opens the directory; creates it if necessary.
  func open() throws(ArchiveError) -> SharedDirectory {
    do {
      do {
        try Directory.make(path, mode: 0o777)
      } catch  where error.isAlreadyExisting {
        // The usual case.
      }
      return SharedDirectory(try Directory.open(path))
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be created", name: path, cause: error)
    }
  }
}
