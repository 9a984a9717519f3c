package import MigrationSystem
package import MigrationWire

/// Lists the selected items of the sources from metadata: it opens no file, except the marks of
/// caches if caches are left out.
package struct SourceWalk {
  private let selection: Selection
  private let isStopped: () -> Bool
  private var tree: SourceTree
  /// The directories that remain to be listed.
  private var pending: [Int] = []

  private init(_ selection: Selection, countingSince moment: Timestamp? = nil, isStopped: @escaping () -> Bool) {
    self.selection = selection
    self.isStopped = isStopped
    tree = SourceTree(countingSince: moment)
  }

  /// Walks all roots in order. A root whose directories are unchanged since an earlier walk with
  /// the same selection keeps the tree of that walk, and nothing in it is looked at again. `known`
  /// has these trees, by the names of their roots. Changes since `moment` are counted apart.
  package static func walk(
    _ roots: [SourceRoot], selecting selection: Selection = Selection(), knowing known: [[UInt8]: SourceTree] = [:],
    countingSince moment: Timestamp? = nil, isStopped: @escaping () -> Bool = { false }
  ) throws(Failure) -> SourceTree {
    var walk = SourceWalk(selection, countingSince: moment, isStopped: isStopped)
    for (number, root) in roots.enumerated() {
      if let tree = known[root.name], tree.isCurrent(of: [root]), walk.tree.append(tree, asRoot: number) { continue }
      try walk.walk(root, number: number)
    }
    return walk.tree
  }

  /// Walks the contents of an open directory; each entry is a root of the tree, with the number 0.
  package static func walk(
    contentsOf directory: SharedDirectory, isStopped: @escaping () -> Bool = { false }
  ) throws(Failure) -> SourceTree {
    var walk = SourceWalk(Selection(), isStopped: isStopped)
    try Failure.wrapping(.source, "the directory cannot be read", walk.add(entriesOf: directory.directory, to: -1, nil))
    while let next = walk.pending.popLast() { try walk.list(next, from: directory) }
    if isStopped() { throw Failure(.stopped, "the walk was stopped") }
    return walk.tree
  }

  private mutating func walk(_ root: SourceRoot, number: Int) throws(Failure) {
    do {
      let (status, flags) = try root.parent.directory.flaggedStatus(root.entry.span)
      guard let kind = ItemKind(status.kind) else { return tree.note(NotStored(path: root.name, .notSendable)) }
      let node = tree.add(root.name.span, status, flags, kind: kind, parent: Int32(-1 - number))
      if kind == .directory { pending = [node] }
    } catch {
      throw Failure(.source, "the source \(VisibleText.quoted(root.name)) cannot be read", cause: error)
    }
    while let directory = pending.popLast() { try list(directory, from: root.parent, of: root) }
  }

  /// Adds the contents of a directory; subdirectories are listed later, in order.
  private mutating func list(
    _ parent: Int, from base: SharedDirectory, of root: SourceRoot? = nil
  ) throws(Failure) {
    if isStopped() { throw Failure(.stopped, "the walk was stopped") }
    guard let path = try? tree.path(parent) else {
      tree.note(NotStored(path: Array(tree.name(tree.nodes[parent])), .beyondLimits))
      return
    }
    do {
      let directory = try base.directory.openDirectoryBeneath(root?.place(of: path) ?? path.bytes)
      try add(entriesOf: directory, to: Int32(parent), path)
    } catch {
      tree.note(NotStored(path: path.bytes, error))
    }
  }

  /// Adds the entries of a directory, files first. Its subdirectories are pending in reverse order,
  /// for the stack.
  private mutating func add(
    entriesOf directory: borrowing Directory, to parent: Int32, _ path: ArchivePath?
  ) throws(SystemError) {
    let listed = try directory.status()
    let device = listed.device
    if parent >= 0 { tree.note(listing: parent, of: directory, listed) }
    var subdirectories: [([UInt8], FileStatus, FileFlags)] = []
    var selection = Selection.OfDirectory(selection, in: directory, path)
    let isDeepest = path.map { $0.depth >= Limits.depth } ?? false
    let length = path.map { $0.bytes.count + 1 } ?? 0
    try directory.forEachEntry { (name, _) throws(SystemError) in
      // Another process may create entries faster than this one lists them.
      if tree.nodes.count % 1024 == 1023, isStopped() { return false }
      guard let (status, flags) = try Self.status(name, in: directory) else { return true }
      guard selection.takes(name, status.kind) else {
        if status.kind == .directory { tree.note(leftOut: Self.path(of: name, in: path)) }
        return true
      }
      guard let kind = ItemKind(status.kind) else {
        note(name, in: path, .notSendable)
        return true
      }
      guard !isDeepest, length + name.count <= Limits.path else {
        note(name, in: path, .beyondLimits)
        return true
      }
      if kind == .directory {
        subdirectories.append(([UInt8](copying: name), status, flags))
      } else {
        _ = tree.add(name, status, flags, kind: kind, parent: parent)
      }
      return true
    }
    for (name, status, flags) in subdirectories.reversed() {
      let node = tree.add(name.span, status, flags, kind: .directory, parent: parent)
      if status.device != device {
        let type = try? directory.openChildDirectory(name).descriptor.fileSystem().type
        let isKernels = type.map { SourceFileSystem.areKernels.contains($0) } ?? false
        tree.note(mountPoint: Self.path(of: name.span, in: path), isKernels: isKernels)
        if isKernels || self.selection.isOnOneFileSystem { continue }
      }
      pending.append(node)
    }
  }

  /// The names in a source's directory that would be sent and have not been listed.
  static func newNames(
    in directory: borrowing Directory, _ path: ArchivePath, besides known: Set<[UInt8]>, selecting selection: Selection
  ) throws(SystemError) -> [[UInt8]] {
    var new: [[UInt8]] = []
    var selection = Selection.OfDirectory(selection, in: directory, path)
    try directory.forEachEntry { (name, _) throws(SystemError) in
      guard !known.contains([UInt8](copying: name)), let (status, _) = try Self.status(name, in: directory),
        selection.takes(name, status.kind), ItemKind(status.kind) != nil
      else { return true }
      new.append([UInt8](copying: name))
      return true
    }
    return new
  }

  private mutating func note(_ name: Span<UInt8>, in path: ArchivePath?, _ reason: NotStored.Reason) {
    tree.note(NotStored(path: Self.path(of: name, in: path), reason))
  }

  private static func path(of name: Span<UInt8>, in path: ArchivePath?) -> [UInt8] {
    (path.map { $0.bytes + [UInt8(ascii: "/")] } ?? []) + [UInt8](copying: name)
  }

  /// The status of a name; nil if it has been removed meanwhile.
  private static func status(
    _ name: Span<UInt8>, in directory: borrowing Directory
  ) throws(SystemError) -> (FileStatus, FileFlags)? {
    do {
      return try directory.flaggedStatus(name)
    } catch  where error.isNotFound {
      return nil
    }
  }
}
