import MigrationSystem
import MigrationWire

/// The last look at what was sent: files that belong together must all be as they were when they were
/// read, and a folder must not have got names since it was listed.
extension SourceBatch {
  /// Whether a file is looked at once more when those that belong together with it have been read.
  func isCaptured(_ index: Int) -> Bool {
    !groups.isEmpty && groups[index] >= 0 && !Together.isMemory(tree.name(tree.nodes[index]))
  }
}

extension ArchiveExport {
  /// The files of a batch that have changed since they were read, and belong together with others.
  func torn(_ number: WorkList.Batch) -> [Int] {
    guard let batch = state.withLock({ $0.batches[number] }) else { return [] }
    var torn: [Int] = []
    var current: (parent: Int32, directory: Place)?
    for (index, generation) in batch.captured.sorted(by: { $0.key < $1.key }) {
      let node = batch.source.tree.nodes[index]
      if current?.parent != node.parent { current = (try? batch.source.open(node.parent)).map { (node.parent, $0) } }
      // What cannot be looked at counts as changed.
      let isSame = current.flatMap { _, directory in
        (try? directory.status(batch.source.tree.name(node))).map { status in
          settings.keys.generation(of: status.fingerprint(on: directory.fileSystem(of: status))) == generation
        }
      }
      if isSame != true { torn.append(index) }
    }
    return torn
  }

  /// Names items of a batch that arrive in no consistent state, or not at all.
  func name(_ unsent: [Unsent]) {
    for unsent in unsent { settings.listener.unsent(unsent) }
    state.withLock { $0.sum.unsent += UInt64(unsent.count) }
  }
}

extension SourceTree {
  /// The names that walked directories have got since they were listed, by their paths in the archive.
  func newNames(of roots: [SourceRoot], selecting selection: Selection) -> [[UInt8]] {
    var changed: Set<Int32> = []
    var current: (parent: Int32, directory: SharedDirectory)?
    for (index, node) in nodes.enumerated() where node.kind == .directory {
      if current?.parent != node.parent { current = (try? open(node.parent, of: roots)).map { (node.parent, $0) } }
      let name = node.parent < 0 ? roots[Int(-1 - node.parent)].entry[...] : name(node)
      guard let status = try? current?.directory.directory.status(name) else { continue }
      if mayHaveChanged(Int32(index), status) { changed.insert(Int32(index)) }
    }
    guard !changed.isEmpty else { return [] }
    var known: [Int32: Set<[UInt8]>] = [:]
    for node in nodes where changed.contains(node.parent) { known[node.parent, default: []].insert(Array(name(node))) }
    var new: [[UInt8]] = []
    for directory in changed.sorted() {
      guard let path = try? path(Int(directory)), let open = try? open(directory, of: roots) else { continue }
      let besides = (known[directory] ?? []).union(unsentNames(in: path))
      let names = try? SourceWalk.newNames(in: open.directory, path, besides: besides, selecting: selection)
      new += (names ?? []).sorted { $0.lexicographicallyPrecedes($1) }.map { path.bytes + [UInt8(ascii: "/")] + $0 }
    }
    return new
  }

  /// The names in a directory that the walk has already named.
  private func unsentNames(in path: ArchivePath) -> [[UInt8]] {
    let beginning = path.bytes + [UInt8(ascii: "/")]
    return unsent.map(\.path).filter { $0.starts(with: beginning) }.map { Array($0.dropFirst(beginning.count)) }
  }

  private func open(_ directory: Int32, of roots: [SourceRoot]) throws -> SharedDirectory {
    if directory < 0 { return roots[Int(-1 - directory)].parent }
    var top = directory
    while nodes[Int(top)].parent >= 0 { top = nodes[Int(top)].parent }
    let root = roots[Int(-1 - nodes[Int(top)].parent)]
    return SharedDirectory(try root.parent.directory.openDirectoryBeneath(root.place(of: try path(Int(directory)))))
  }
}
