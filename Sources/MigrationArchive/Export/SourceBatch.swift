package import MigrationWire

/// The items that are read into an archive together: a walked tree, or one item that an app
/// appended.
package struct SourceBatch<Place: SourceDirectory>: Sendable {
  /// The parent directories of the roots.
  let roots: [Place]
  let tree: SourceTree
  /// The prefix of the roots in the archive; nil for its top.
  let prefix: ArchivePath?
  /// Directories whose records are already in the archive.
  let merged: Set<Int>
  /// Whether owners and groups are sent.
  let withOwners: Bool

  /// For each item of the tree, the ability that the destination lacks; empty if the destination
  /// can hold every item.
  private(set) var lacks: [DestinationTraits.Lack?] = []

  package init(
    roots: [Place], tree: SourceTree, prefix: ArchivePath? = nil, merging merged: Set<Int> = [],
    withOwners: Bool = false
  ) {
    self.roots = roots
    self.tree = tree
    self.prefix = prefix
    self.merged = merged
    self.withOwners = withOwners
  }

  /// The same batch, checked against the traits of a destination.
  func lacking(_ traits: DestinationTraits) -> SourceBatch {
    var batch = self
    batch.lacks = tree.lacks(of: traits, beneath: prefix)
    return batch
  }

  /// The path of an item in the archive.
  func path(_ index: Int) throws(Violation) -> ArchivePath {
    let inner = try tree.path(index)
    return try prefix?.appending(inner) ?? inner
  }

  /// Converts the path of an item from a path within the roots to a path in the archive.
  func named(_ unsent: Unsent) -> Unsent {
    let path = (prefix.map { $0.bytes + [UInt8(ascii: "/")] } ?? []) + unsent.path
    return Unsent(path: path, reason: unsent.reason, message: unsent.message)
  }

  /// The number of the root above an item with this parent.
  func rootNumber(of parent: Int32) -> Int {
    var current = parent
    while current >= 0 { current = tree.nodes[Int(current)].parent }
    return Int(-1 - current)
  }

  /// Opens the parent directory of an item.
  func open(_ parent: Int32) throws -> Place {
    if parent < 0 { return roots[Int(-1 - parent)] }
    return try roots[rootNumber(of: parent)].directory(at: try tree.path(Int(parent)))
  }
}
