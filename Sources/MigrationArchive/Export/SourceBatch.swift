package import MigrationWire

/// What is read into an archive together: a walked tree, or one item that an app appended.
package struct SourceBatch<Place: SourceDirectory>: Sendable {
  /// The directories that the roots are in.
  let roots: [Place]
  let tree: SourceTree
  /// Where the roots go in the archive; nil for its top.
  let prefix: ArchivePath?
  /// Directories whose records are in the archive already.
  let merged: Set<Int>
  /// Whether owners and groups are sent.
  let withOwners: Bool

  /// What the destination lacks for each item of the tree; empty where it can hold everything.
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

  /// The same, for a destination.
  func lacking(_ traits: DestinationTraits) -> SourceBatch {
    var batch = self
    batch.lacks = tree.lacks(of: traits, beneath: prefix)
    return batch
  }

  /// How the archive calls an item.
  func path(_ index: Int) throws(Violation) -> ArchivePath {
    let inner = try tree.path(index)
    return try prefix?.appending(inner) ?? inner
  }

  /// Names an item whose path begins at the roots as the archive calls it.
  func named(_ unsent: Unsent) -> Unsent {
    let path = (prefix.map { $0.bytes + [UInt8(ascii: "/")] } ?? []) + unsent.path
    return Unsent(path: path, reason: unsent.reason, message: unsent.message)
  }

  /// The number of the root that an item with this parent lies beneath.
  func rootNumber(of parent: Int32) -> Int {
    var current = parent
    while current >= 0 { current = tree.nodes[Int(current)].parent }
    return Int(-1 - current)
  }

  /// Opens the directory that an item with this parent is in.
  func open(_ parent: Int32) throws -> Place {
    if parent < 0 { return roots[Int(-1 - parent)] }
    return try roots[rootNumber(of: parent)].directory(at: try tree.path(Int(parent)))
  }
}
