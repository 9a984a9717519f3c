import MigrationSystem
import MigrationWire

/// Examines walked directories again: their times of change tell whether names were added or
/// removed since they were listed.
extension SourceTree {
  /// Whether a walk would find the same names again, and need not look at each item: every
  /// directory is unchanged since it was listed, on a file system whose times tell that.
  func isCurrent(of roots: [SourceRoot]) -> Bool {
    guard mountPoints.isEmpty, kernelMountPoints.isEmpty, roots.allSatisfy(\.datesChanges) else { return false }
    var isCurrent = true
    lookAtDirectories(of: roots) { directory, status in
      if let status, listings.keys.contains(directory), !mayHaveChanged(directory, status) { return true }
      isCurrent = false
      return false
    }
    return isCurrent
  }

  /// The walked directories in which names may have been added or removed since they were listed.
  func changedDirectories(of roots: [SourceRoot]) -> Set<Int32> {
    var changed: Set<Int32> = []
    lookAtDirectories(of: roots) { directory, status in
      if let status, mayHaveChanged(directory, status) { changed.insert(directory) }
      return true
    }
    return changed
  }

  /// The databases in directories that have changed, by their paths in the archive, and when each of them
  /// was last changed: since the walk began, as far as the file system tells. Each may have had a
  /// sidecar file that the walk did not meet.
  func changedDatabases(in changed: Set<Int32>, of roots: [SourceRoot]) -> [[UInt8]: Timestamp] {
    guard !changed.isEmpty else { return [:] }
    var found: [[UInt8]: Timestamp] = [:]
    var current: (parent: Int32, directory: SharedDirectory, folder: [UInt8])?
    for node in nodes where node.kind == .file && changed.contains(node.parent) {
      if current?.parent != node.parent {
        current = try? (node.parent, openDirectory(node.parent, of: roots), path(Int(node.parent)).bytes)
      }
      guard let current, let status = try? current.directory.directory.status(name(node)), status.kind == .regular,
        status.changed >= begun || current.directory.directory.stampKeeping != .ownClock,
        let file = try? current.directory.directory.openChild(name(node)), ItemUnit.isDatabase(file)
      else { continue }
      found[current.folder + [UInt8(ascii: "/")] + name(node)] = status.changed
    }
    return found
  }

  /// The names that directories which have changed have got since they were listed, by their paths in the
  /// archive.
  func newNames(in changed: Set<Int32>, of roots: [SourceRoot], selecting selection: Selection) -> [[UInt8]] {
    guard !changed.isEmpty else { return [] }
    var known: [Int32: Set<[UInt8]>] = [:]
    for node in nodes where changed.contains(node.parent) { known[node.parent, default: []].insert(Array(name(node))) }
    var new: [[UInt8]] = []
    for directory in changed.sorted() {
      guard let path = try? path(Int(directory)), let open = try? openDirectory(directory, of: roots) else { continue }
      let besides = (known[directory] ?? []).union(unsentNames(in: path))
      let names = try? SourceWalk.newNames(in: open.directory, path, besides: besides, selecting: selection)
      new += (names ?? []).sorted { $0.lexicographicallyPrecedes($1) }.map { path.bytes + [UInt8(ascii: "/")] + $0 }
    }
    return new
  }

  /// Calls `body` for each directory until it returns false; the status is nil where none can be read.
  private func lookAtDirectories(of roots: [SourceRoot], _ body: (Int32, FileStatus?) -> Bool) {
    var current: (parent: Int32, directory: SharedDirectory)?
    for (index, node) in nodes.enumerated() where node.kind == .directory {
      if current?.parent != node.parent {
        current = (try? openDirectory(node.parent, of: roots)).map { (node.parent, $0) }
      }
      let name = node.parent < 0 ? roots[Int(-1 - node.parent)].entry[...] : name(node)
      let status = (try? current?.directory.directory.status(name)) ?? nil
      guard body(Int32(index), status) else { return }
    }
  }

  /// Whether a walked directory may have changed since it was listed.
  private func mayHaveChanged(_ directory: Int32, _ status: FileStatus) -> Bool {
    guard case .some(let stamp)? = listings[directory] else { return listings.keys.contains(directory) }
    return stamp != status.changed
  }

  /// The names in a directory that the walk has already named.
  private func unsentNames(in path: ArchivePath) -> [[UInt8]] {
    let beginning = path.bytes + [UInt8(ascii: "/")]
    return unsent.map(\.path).filter { $0.starts(with: beginning) }.map { Array($0.dropFirst(beginning.count)) }
  }

  private func openDirectory(_ directory: Int32, of roots: [SourceRoot]) throws -> SharedDirectory {
    if directory < 0 { return roots[Int(-1 - directory)].parent }
    var top = directory
    while nodes[Int(top)].parent >= 0 { top = nodes[Int(top)].parent }
    let root = roots[Int(-1 - nodes[Int(top)].parent)]
    return SharedDirectory(try root.parent.directory.openDirectoryBeneath(root.place(of: try path(Int(directory)))))
  }
}

extension SourceRoot {
  /// Whether the file system of a folder tells by a folder's time of change that its names have changed.
  fileprivate var datesChanges: Bool {
    guard kind == .directory, let folder = try? parent.directory.openChildDirectory(entry) else { return false }
    return folder.stampKeeping == .ownClock
  }
}

extension Directory {
  /// Who makes the stamps of its file system.
  var stampKeeping: StampKeeping {
    (try? descriptor.fileSystem()).map { StampKeeping(fileSystemType: $0.type) } ?? .unknown
  }
}
