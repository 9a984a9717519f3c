import MigrationSystem
import MigrationWire

/// Lists everything beneath the sources, by metadata alone: no file is opened.
package struct SourceWalk {
  private let roots: [SourceRoot]
  private let isStopped: () -> Bool
  private var tree = SourceTree()
  private var pending: [Int] = []

  private init(_ roots: [SourceRoot], isStopped: @escaping () -> Bool) {
    self.roots = roots
    self.isStopped = isStopped
  }

  /// Walks all roots in their order.
  package static func walk(
    _ roots: [SourceRoot], isStopped: @escaping () -> Bool = { false }
  ) throws(ArchiveError) -> SourceTree {
    var walk = SourceWalk(roots, isStopped: isStopped)
    for index in roots.indices { try walk.walk(root: index) }
    return walk.tree
  }

  private mutating func walk(root index: Int) throws(ArchiveError) {
    let root = roots[index]
    do {
      let status = try root.parent.directory.status(root.name)
      guard let kind = ItemKind(status.kind) else { return tree.note(Unsent(path: root.name, reason: .notSendable)) }
      let node = tree.add(root.name.span, status, kind: kind, parent: Int32(-1 - index))
      if kind == .directory { pending = [node] }
    } catch {
      throw ArchiveError(.source, "the source \"\(VisibleText.of(root.name))\" cannot be read", cause: error)
    }
    while let directory = pending.popLast() { try list(directory, of: root) }
  }

  /// Adds what a directory holds; subdirectories are listed later, the first of them first.
  private mutating func list(_ parent: Int, of root: SourceRoot) throws(ArchiveError) {
    if isStopped() { throw ArchiveError(.stopped, "the walk was stopped") }
    guard let path = try? tree.path(parent) else {
      tree.note(Unsent(path: Array(tree.name(tree.nodes[parent])), reason: .beyondLimits))
      return
    }
    do {
      let directory = try root.parent.directory.openDirectoryBeneath(path.bytes)
      let subdirectories = try add(entriesOf: directory, to: parent, path)
      for (name, status) in subdirectories {
        pending.append(tree.add(name.span, status, kind: .directory, parent: Int32(parent)))
      }
    } catch {
      tree.note(Unsent(path: path.bytes, reason: error.isNotFound ? .vanished : .unreadable, message: error.words))
    }
  }

  /// Adds what is in a directory, files first; the subdirectories in reverse, as a stack wants them.
  private mutating func add(
    entriesOf directory: borrowing Directory, to parent: Int, _ path: ArchivePath
  ) throws(SystemError) -> [([UInt8], FileStatus)] {
    var subdirectories: [([UInt8], FileStatus)] = []
    let isDeepest = path.depth >= Limits.depth
    try directory.forEachEntry { (name, _) throws(SystemError) in
      guard let status = try Self.status(name, in: directory) else { return true }
      guard let kind = ItemKind(status.kind) else {
        note(name, in: path, .notSendable)
        return true
      }
      guard !isDeepest, path.bytes.count + 1 + name.count <= Limits.path else {
        note(name, in: path, .beyondLimits)
        return true
      }
      if kind == .directory {
        subdirectories.append(([UInt8](copying: name), status))
      } else {
        _ = tree.add(name, status, kind: kind, parent: Int32(parent))
      }
      return true
    }
    return subdirectories.reversed()
  }

  private mutating func note(_ name: Span<UInt8>, in path: ArchivePath, _ reason: Unsent.Reason) {
    tree.note(Unsent(path: path.bytes + [UInt8(ascii: "/")] + [UInt8](copying: name), reason: reason))
  }

  /// A name's status; nil when it has gone meanwhile.
  private static func status(_ name: Span<UInt8>, in directory: borrowing Directory) throws(SystemError) -> FileStatus?
  {
    do {
      return try directory.status(name)
    } catch  where error.isNotFound {
      return nil
    }
  }
}
