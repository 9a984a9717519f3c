package import MigrationSystem
package import MigrationWire

/// Lists the selected items of the sources from metadata: it opens no file, except the marks of
/// caches if caches are left out.
package struct SourceWalk {
  private let selection: Selection
  private let isStopped: () -> Bool
  private var tree = SourceTree()
  /// The directories that remain to be listed.
  private var pending: [Int] = []

  private init(_ selection: Selection, isStopped: @escaping () -> Bool) {
    self.selection = selection
    self.isStopped = isStopped
  }

  /// Walks all roots in order.
  package static func walk(
    _ roots: [SourceRoot], selecting selection: Selection = Selection(),
    isStopped: @escaping () -> Bool = { false }
  ) throws(ArchiveError) -> SourceTree {
    var walk = SourceWalk(selection, isStopped: isStopped)
    for (number, root) in roots.enumerated() { try walk.walk(root, number: number) }
    return walk.tree
  }

  /// Walks the contents of an open directory; each entry is a root of the tree, with the number 0.
  package static func walk(
    contentsOf directory: SharedDirectory, isStopped: @escaping () -> Bool = { false }
  ) throws(ArchiveError) -> SourceTree {
    var walk = SourceWalk(Selection(), isStopped: isStopped)
    do {
      let subdirectories = try walk.add(entriesOf: directory.directory, to: -1, nil)
      walk.push(subdirectories, to: -1)
    } catch {
      throw ArchiveError(.source, "the directory cannot be read", cause: error)
    }
    while let next = walk.pending.popLast() { try walk.list(next, from: directory) }
    if isStopped() { throw ArchiveError(.stopped, "the walk was stopped") }
    return walk.tree
  }

  private mutating func walk(_ root: SourceRoot, number: Int) throws(ArchiveError) {
    do {
      let status = try root.parent.directory.status(root.name)
      guard let kind = ItemKind(status.kind) else { return tree.note(Unsent(path: root.name, reason: .notSendable)) }
      let node = tree.add(root.name.span, status, kind: kind, parent: Int32(-1 - number))
      if kind == .directory { pending = [node] }
    } catch {
      throw ArchiveError(.source, "the source \(VisibleText.quoted(root.name)) cannot be read", cause: error)
    }
    while let directory = pending.popLast() { try list(directory, from: root.parent) }
  }

  /// Adds the contents of a directory; subdirectories are listed later, in order.
  private mutating func list(_ parent: Int, from base: SharedDirectory) throws(ArchiveError) {
    if isStopped() { throw ArchiveError(.stopped, "the walk was stopped") }
    guard let path = try? tree.path(parent) else {
      tree.note(Unsent(path: Array(tree.name(tree.nodes[parent])), reason: .beyondLimits))
      return
    }
    do {
      let directory = try base.directory.openDirectoryBeneath(path.bytes)
      push(try add(entriesOf: directory, to: Int32(parent), path), to: Int32(parent))
    } catch {
      tree.note(Unsent(path: path.bytes, reason: error.isNotFound ? .vanished : .unreadable, message: error.words))
    }
  }

  private mutating func push(_ subdirectories: [([UInt8], FileStatus)], to parent: Int32) {
    for (name, status) in subdirectories {
      pending.append(tree.add(name.span, status, kind: .directory, parent: parent))
    }
  }

  /// Adds the entries of a directory, files first; the subdirectories in reverse order, for the
  /// stack.
  private mutating func add(
    entriesOf directory: borrowing Directory, to parent: Int32, _ path: ArchivePath?
  ) throws(SystemError) -> [([UInt8], FileStatus)] {
    var subdirectories: [([UInt8], FileStatus)] = []
    var selection = DirectorySelection(selection, in: directory, path)
    let isDeepest = path.map { $0.depth >= Limits.depth } ?? false
    let length = path.map { $0.bytes.count + 1 } ?? 0
    try directory.forEachEntry { (name, _) throws(SystemError) in
      // Another process may create entries faster than this one lists them.
      if tree.nodes.count % 1024 == 1023, isStopped() { return false }
      guard let status = try Self.status(name, in: directory), selection.takes(name, status.kind) else { return true }
      guard let kind = ItemKind(status.kind) else {
        note(name, in: path, .notSendable)
        return true
      }
      guard !isDeepest, length + name.count <= Limits.path else {
        note(name, in: path, .beyondLimits)
        return true
      }
      if kind == .directory {
        subdirectories.append(([UInt8](copying: name), status))
      } else {
        _ = tree.add(name, status, kind: kind, parent: parent)
      }
      return true
    }
    return subdirectories.reversed()
  }

  private mutating func note(_ name: Span<UInt8>, in path: ArchivePath?, _ reason: Unsent.Reason) {
    let prefix = path.map { $0.bytes + [UInt8(ascii: "/")] } ?? []
    tree.note(Unsent(path: prefix + [UInt8](copying: name), reason: reason))
  }

  /// The status of a name; nil if it has been removed meanwhile.
  private static func status(_ name: Span<UInt8>, in directory: borrowing Directory) throws(SystemError) -> FileStatus?
  {
    do {
      return try directory.status(name)
    } catch  where error.isNotFound {
      return nil
    }
  }
}

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
