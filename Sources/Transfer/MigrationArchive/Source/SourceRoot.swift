package import MigrationSystem
package import MigrationWire

/// A file or folder that the user named, held by its parent directory.
package struct SourceRoot: Sendable {
  /// Its name in the archive: the last component of the path, or the own name of a folder that is
  /// named by `.` or `..`.
  package let name: [UInt8]
  /// Its type; nil for a socket, a pipe or a device, which is named and not sent.
  package let kind: ItemKind?
  let parent: SharedDirectory
  /// Its name in `parent`.
  let entry: [UInt8]
  /// The directory of the link that leads to it, if a slash at the end of the path follows a link.
  private let linked: SharedDirectory?

  /// Opens the target of the user's path. If the last component is a link, the link itself is the
  /// source, except where a slash follows it.
  package init(path: [UInt8]) throws(Failure) {
    var parents: [[UInt8]: SharedDirectory] = [:]
    try self.init(path: path, sharing: &parents)
  }

  /// Opens the target of the user's path; sources in one directory share its descriptor.
  init(path: [UInt8], sharing parents: inout [[UInt8]: SharedDirectory]) throws(Failure) {
    do {
      var named = Self.split(path)
      let hasOwnName = named.name != Array(".".utf8) && named.name != Array("..".utf8)
      if !hasOwnName { named = Self.split(try Directory.open(path).canonicalPath()) }
      try ArchivePath.checkComponent(named.name.span)
      var (parent, entry) = (try Self.open(named.directory, sharing: &parents), named.name)
      var status = try parent.directory.status(entry)
      var linked: SharedDirectory?
      if status.kind == .symbolicLink, path.last == UInt8(ascii: "/") {
        let target = Self.split(try Directory.open(path).canonicalPath())
        try ArchivePath.checkComponent(target.name.span)
        linked = parent
        (parent, entry) = (try Self.open(target.directory, sharing: &parents), target.name)
        status = try parent.directory.status(entry)
      }
      name = named.name
      kind = ItemKind(status.kind)
      self.parent = parent
      self.entry = entry
      self.linked = linked
    } catch {
      throw Self.unusable(path, error)
    }
  }

  /// Holds an item at a relative path beneath an open directory, under a name of its own in the
  /// archive. No link is followed on the way.
  package init(
    _ path: [UInt8], beneath base: SharedDirectory, as name: [UInt8]
  ) throws(Failure) {
    var parents: [[UInt8]: SharedDirectory] = [:]
    try self.init(path, beneath: base, as: name, sharing: &parents)
  }

  /// The same; items in one directory share its descriptor.
  package init(
    _ path: [UInt8], beneath base: SharedDirectory, as name: [UInt8], sharing parents: inout [[UInt8]: SharedDirectory]
  ) throws(Failure) {
    do {
      try ArchivePath.checkComponent(name.span)
      let slash = path.lastIndex(of: UInt8(ascii: "/"))
      entry = Array(path[(slash.map { $0 + 1 } ?? 0)...])
      if let slash {
        let above = Array(path[..<slash])
        parent = try parents[above] ?? SharedDirectory(try base.directory.openDirectoryBeneath(above))
        parents[above] = parent
      } else {
        parent = base
      }
      kind = ItemKind(try parent.directory.status(entry).kind)
      self.name = name
      linked = nil
    } catch {
      throw Self.unusable(path, error)
    }
  }

  private static func open(
    _ directory: [UInt8], sharing parents: inout [[UInt8]: SharedDirectory]
  ) throws(SystemError) -> SharedDirectory {
    if let opened = parents[directory] { return opened }
    let opened = SharedDirectory(try Directory.open(directory))
    parents[directory] = opened
    return opened
  }

  /// The directory and the last component of a path, which may end in slashes.
  private static func split(_ path: [UInt8]) -> (directory: [UInt8], name: [UInt8]) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
    return FileContent.split(Array(trimmed))
  }

  /// The place of one of its items, relative to `parent`.
  func place(of path: ArchivePath) -> [UInt8] { entry + path.bytes.dropFirst(path.root.count) }

  private static func unusable(_ path: [UInt8], _ error: any Error) -> Failure {
    let cause = error as? SystemError
    let trouble = cause == nil ? "has no name to use at the destination" : "cannot be read"
    return Failure(.source, "the source \(VisibleText.quoted(path)) \(trouble)", name: path, cause: cause)
  }

  /// Its absolute path, as the user named it: a folder behind a link ends with a slash.
  func origin() throws(SystemError) -> [UInt8] {
    let base = try (linked ?? parent).directory.canonicalPath()
    let last = linked == nil ? entry : name + [UInt8(ascii: "/")]
    return base + (base.count > 1 ? [UInt8(ascii: "/")] : []) + last
  }
}
