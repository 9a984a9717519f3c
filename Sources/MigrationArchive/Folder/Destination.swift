import MigrationSystem
import MigrationWire

/// The directory that folders arrive in. It may not exist yet: then it is made when the first offer is taken.
struct Destination: Sendable {
  let path: [UInt8]

  /// Opens the directory, or what is above it when it is still to be made.
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
      // A name that is there leads nowhere; one that is none can never be.
      if try !directory.directory.isFree(trimmed[parent.endIndex...]) {
        throw SystemError(reason: "it is a link that leads nowhere", operation: "open")
      }
      return directory
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be made", name: path, cause: error)
    }
  }

  /// Fails unless the directory is there and can be written to, or can be made.
  func check() throws(ArchiveError) {
    let (directory, _) = try openNearest()
    do {
      try directory.directory.checkWritable()
    } catch {
      throw ArchiveError(
        .destination, "the destination \(VisibleText.quoted(path)) cannot be written to", name: path, cause: error)
    }
  }

  /// How much room there is.
  func space() throws(ArchiveError) -> FileSystemSpace {
    let (directory, _) = try openNearest()
    do {
      return try FileSystemSpace.of(directory.directory.descriptor)
    } catch {
      throw ArchiveError(
        .destination, "the room at \(VisibleText.quoted(path)) cannot be measured", name: path, cause: error)
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

  /// The absolute path, also of a directory that is still to be made.
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

  /// Opens the directory; nil if it is still to be made.
  func openIfThere() throws(ArchiveError) -> SharedDirectory? {
    let (directory, exists) = try openNearest()
    return exists ? directory : nil
  }

  /// Opens the directory, making it if need be.
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
        .destination, "the destination \(VisibleText.quoted(path)) cannot be made", name: path, cause: error)
    }
  }
}
