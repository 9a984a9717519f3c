import MigrationSystem
import MigrationWire

/// The last look at the sent items. Files that belong together must be unchanged since they were
/// read, and a folder must have no new names since it was listed.
extension SourceBatch {
  /// Whether a file is examined again after the files that belong together with it have been read.
  func isCaptured(_ index: Int) -> Bool {
    !unitGroups.isEmpty && unitGroups[index] >= 0 && !ItemUnit.isMemory(tree.name(tree.nodes[index]))
  }
}

extension ArchiveExport {
  /// The files of a batch that have changed since they were read or left out, and that belong
  /// together with a file that was read.
  func torn(_ number: WorkList.Batch) -> [Int] {
    guard let batch = state.withLock({ $0.batches[number] }) else { return [] }
    let units = batch.source.unitGroups
    let read = Set(batch.captured.keys.map { units[$0] })
    let captured = batch.captured.merging(batch.uncaptured.filter { read.contains(units[$0.key]) }) { read, _ in read }
    var torn: [Int] = []
    var current: (parent: Int32, directory: Source)?
    for (index, generation) in captured.sorted(by: { $0.key < $1.key }) {
      let node = batch.source.tree.nodes[index]
      if current?.parent != node.parent { current = (try? batch.source.open(node.parent)).map { (node.parent, $0) } }
      // A file that cannot be examined counts as changed.
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
  func name(_ unsent: [NotStored]) {
    for unsent in unsent { settings.listener.unsent(unsent) }
    state.withLock { $0.sum.unsent += UInt64(unsent.count) }
  }
}
