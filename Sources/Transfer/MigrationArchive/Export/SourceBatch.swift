import MigrationSystem
package import MigrationWire

/// The items that are read into an archive together: a walked tree, or one item that an app
/// appended.
package struct SourceBatch<Source: SourceDirectory>: Sendable {
  /// The parent directories of the roots.
  let roots: [Source]
  let tree: SourceTree
  /// The prefix of the roots in the archive; nil for its top.
  let prefix: ArchivePath?
  /// Directories whose records are already in the archive.
  let merged: Set<Int>
  /// The names of owners and groups; nil where they are not sent.
  let owners: OwnerNames?

  /// For each item of the tree, the number of its unit, or -1; empty if there are no units, or if
  /// the destination has reported no names.
  private var units: [Int32] = []
  /// For each item, the number of those that are captured together with it, or -1; empty if none are.
  private(set) var unitGroups: [Int32] = []
  /// Those of them that were removed at the destination.
  private var removed: Set<Int> = []
  /// The items of units of which only the metadata is new.
  private var following: Set<Int> = []
  /// The numbers of the units that the destination needs whole.
  private var wanted: Set<Int32> = []

  package init(
    roots: [Source], tree: SourceTree, prefix: ArchivePath? = nil, merging merged: Set<Int> = [],
    naming owners: OwnerNames? = nil
  ) {
    self.roots = roots
    self.tree = tree
    self.prefix = prefix
    self.merged = merged
    self.owners = owners
  }

  /// The same batch, checked against the known facts about a destination.
  func checked(by settings: ExportSettings) -> SourceBatch {
    var batch = self
    batch.unitGroups = tree.units(captured: true)
    if settings.held.hasNames { batch.findUnits(settings) }
    return batch
  }

  /// Whether the destination needs the whole unit of an item.
  func isWanted(_ index: Int) -> Bool { !units.isEmpty && wanted.contains(units[index]) }

  /// Whether the destination has the whole unit of an item, and the item's metadata.
  func isHeld(_ index: Int) -> Bool {
    !units.isEmpty && units[index] >= 0 && !wanted.contains(units[index]) && !following.contains(index)
  }

  /// Whether an item was removed at the destination.
  func isRemoved(_ index: Int) -> Bool { removed.contains(index) }

  /// Finds the units, and which of them the destination has. Later changes count as made after this
  /// transfer.
  private mutating func findUnits(_ settings: ExportSettings) {
    units = settings.isWhole ? tree.rootUnits() : tree.units()
    var current: (parent: Int32, directory: Source)?
    for (index, number) in units.enumerated() where number >= 0 && !wanted.contains(number) {
      let parent = tree.nodes[index].parent
      if current?.parent != parent { current = (try? open(parent)).map { (parent, $0) } }
      let isThere = if let directory = current?.directory { isPresent(index, in: directory, settings) } else { false }
      if !isThere { wanted.insert(number) }
    }
  }

  private mutating func isPresent(_ index: Int, in directory: Source, _ settings: ExportSettings) -> Bool {
    let name = tree.name(tree.nodes[index])
    guard let path = try? path(index), let status = try? directory.status(name) else { return false }
    let target = status.kind == .symbolicLink ? try? directory.readLink(name) : nil
    let mark = settings.presentMark(path, status, target: target)
    if settings.held.has(mark, .present) { return true }
    if settings.held.has(mark, .removed) {
      removed.insert(index)
      return true
    }
    guard settings.held.has(mark, .arrived) else { return false }
    if settings.isInArrivedState(path, status) { return true }
    guard let file = try? directory.open(name),
      let sum = (try? ContentSum.read(file, UInt64(status.size), unless: { settings.stopSignal.isSet })) ?? nil,
      settings.hasArrivedContent(path, status, sum)
    else { return false }
    following.insert(index)
    return true
  }

  /// The path of an item in the archive.
  func path(_ index: Int) throws(Violation) -> ArchivePath {
    let inner = try tree.path(index)
    return try prefix?.appending(inner) ?? inner
  }

  /// Converts the path of an item from a path within the roots to a path in the archive.
  func named(_ unsent: NotStored) -> NotStored {
    unsent.named((prefix.map { $0.bytes + [UInt8(ascii: "/")] } ?? []) + unsent.path)
  }

  /// The number of the root above an item with this parent.
  func rootNumber(of parent: Int32) -> Int {
    var current = parent
    while current >= 0 { current = tree.nodes[Int(current)].parent }
    return Int(-1 - current)
  }

  /// Opens the parent directory of an item.
  func open(_ parent: Int32) throws -> Source {
    if parent < 0 { return roots[Int(-1 - parent)] }
    return try roots[rootNumber(of: parent)].directory(at: try tree.path(Int(parent)))
  }
}
