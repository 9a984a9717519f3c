import MigrationSystem
package import MigrationWire

/// A file or folder that the user named, held by its parent directory.
package struct SourceRoot: Sendable {
  /// Its name in the archive: the last component of the path.
  package let name: [UInt8]
  package let kind: ItemKind
  let parent: SharedDirectory

  /// Opens the target of the user's path; if the last component is a link, the link itself is the
  /// source.
  package init(path: [UInt8]) throws(ArchiveError) {
    var parents: [[UInt8]: SharedDirectory] = [:]
    try self.init(path: path, sharing: &parents)
  }

  /// Opens the target of the user's path; sources in one directory share its descriptor.
  init(path: [UInt8], sharing parents: inout [[UInt8]: SharedDirectory]) throws(ArchiveError) {
    let shown = VisibleText.quoted(path)
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
    let slash = trimmed.lastIndex(of: UInt8(ascii: "/"))
    let name = Array(slash.map { trimmed[($0 + 1)...] } ?? trimmed)
    do {
      try ArchivePath.checkComponent(name.span)
    } catch {
      throw ArchiveError(.source, "the source \(shown) has no name to use at the destination", name: path)
    }
    let directory: [UInt8] =
      switch slash {
      case nil: Array(".".utf8)
      case trimmed.startIndex?: Array("/".utf8)
      case let slash?: Array(trimmed[..<slash])
      }
    do {
      parent = try parents[directory] ?? SharedDirectory(try Directory.open(directory))
      parents[directory] = parent
      let status = try parent.directory.status(name)
      guard let kind = ItemKind(status.kind) else {
        throw ArchiveError(.source, "the source \(shown) is not a file, directory or symbolic link", name: path)
      }
      self.kind = kind
    } catch let error as ArchiveError {
      throw error
    } catch let error as SystemError {
      throw ArchiveError(.source, "the source \(shown) cannot be read", name: path, cause: error)
    } catch {
      preconditionFailure("the kernel layer throws only its own errors")
    }
    self.name = name
  }
}
