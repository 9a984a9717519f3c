package import MigrationSystem
package import MigrationWire

/// The files and folders that the user named.
package final class FolderSource: ItemSource {
  private let roots: [SourceRoot]
  private let withOwners: Bool
  private let selection: Selection
  private let contents: @Sendable ([Root]) -> Offer.Contents
  private let notice: @Sendable (String) -> Void
  /// The places of the roots, for the user, if their names are keys.
  package let places: RootDestinations?
  /// The trees of earlier walks, by the names of the roots; empty once they have been used.
  private let walked: Mutex<[[UInt8]: SourceTree]>
  private let tree = Mutex<SourceTree?>(nil)
  private let recaptures = Mutex(0)
  /// The databases that may have had a sidecar file meanwhile, with the times of their last change.
  private let databases = Mutex<[[UInt8]: Timestamp]>([:])

  /// Opens the targets of the paths; no two may have the same name in the archive. `notice` gets
  /// clauses for the user about what the walk finds.
  package convenience init(
    paths: [[UInt8]], selecting selection: Selection = Selection(), withOwners: Bool = false,
    notice: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(Failure) {
    var roots: [SourceRoot] = []
    var parents: [[UInt8]: SharedDirectory] = [:]
    for path in paths { roots.append(try SourceRoot(path: path, sharing: &parents)) }
    try self.init(roots: roots, selecting: selection, withOwners: withOwners, notice: notice)
  }

  /// Sends items that are held already, under their names in the archive. `contents` makes the
  /// contents of the part from the items that can be sent. `places` says where they are, if their names
  /// are keys. `walked` has the trees of roots that have been walked with the same selection.
  package init(
    roots: [SourceRoot], selecting selection: Selection, withOwners: Bool = false,
    contents: @escaping @Sendable ([Root]) -> Offer.Contents = { .folders($0) }, places: RootDestinations? = nil,
    walked: [[UInt8]: SourceTree] = [:], notice: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(Failure) {
    self.selection = selection
    self.contents = contents
    self.notice = notice
    self.places = places
    self.walked = Mutex(walked)
    let roots = roots.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    for (one, next) in zip(roots, roots.dropFirst()) where one.name == next.name {
      throw Failure(
        .source, "two sources have the same name, \(VisibleText.quoted(one.name))", name: one.name)
    }
    if let first = roots.first, roots.allSatisfy({ $0.kind == nil }) {
      throw Failure(
        .source, "the source \(VisibleText.quoted(first.name)) is not a file, directory or symbolic link",
        name: first.name)
    }
    self.roots = roots
    self.withOwners = withOwners
  }

  package var isRotating: Bool {
    roots.contains { root in (try? root.parent.directory.status().isOnRotatingDisk) ?? false }
  }

  package func origin() throws(Failure) -> [[UInt8]] {
    var origin: [[UInt8]] = []
    for root in roots {
      origin.append(
        try Failure.wrapping(.source, "the source \(shown(root.name)) can no longer be found", root.origin()))
    }
    return origin.sorted { $0.lexicographicallyPrecedes($1) }
  }

  package func identities(by naming: SourceNaming) -> [SourceIdentity] {
    roots.filter { $0.kind != nil }.map { naming.identity(of: $0) }
  }

  package func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary {
    let tree = try walk(until: stop)
    var summary = SourceSummary(
      contents: contents(roots.compactMap { root in root.kind.map { Root(kind: $0, name: root.name) } }),
      total: tree.total, allocated: tree.allocated, changed: tree.latestChanges.values.max().map { ItemTime($0) })
    summary.places = places.map { $0.all } ?? [:]
    noteMountPoints(of: tree)
    self.tree.withLock { $0 = tree }
    return summary
  }

  /// Walks the sources, as far as that was not done before.
  private func walk(until stop: StopSignal) throws(Failure) -> SourceTree {
    if let tree = tree.withLock({ $0 }), tree.isCurrent(of: roots) { return tree }
    let known = walked.withLock { walked in
      defer { walked = [:] }
      return walked
    }
    return try SourceWalk.walk(roots, selecting: selection, knowing: known) { stop.isSet }
  }

  private static let namedMountPoints = 5

  private func noteMountPoints(of tree: SourceTree) {
    if !tree.kernelMountPoints.isEmpty {
      notice("the kernel's own file systems are left out: \(names(tree.kernelMountPoints))")
    }
    guard !tree.mountPoints.isEmpty else { return }
    notice(
      "other file systems begin at \(names(tree.mountPoints)): "
        + (selection.isOnOneFileSystem
          ? "they are left out" : "they are sent too, unless --one-file-system leaves them out"))
  }

  private func names(_ points: [[UInt8]]) -> String {
    let named = points.prefix(Self.namedMountPoints).map { shown($0) }.joined(separator: ", ")
    return points.count > Self.namedMountPoints ? named + " and \(points.count - Self.namedMountPoints) more" : named
  }

  /// The name of an item on this device.
  private func shown(_ path: [UInt8]) -> String { VisibleText.quoted(places?.place(of: path) ?? path) }

  package func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    let (roots, tree) = try rest(besides: settings.leftOut, unless: settings.stopSignal)
    var places: [RealDirectory] = []
    let clocks = SourceClocks(tree.latestChanges)
    for root in roots {
      places.append(
        try Failure.wrapping(.source, "the source \(shown(root.name)) cannot be read", RealDirectory(root, clocks)))
    }
    let export = ArchiveExport<RealDirectory>(settings)
    let batch = export.add(SourceBatch(roots: places, tree: tree, naming: withOwners ? OwnerNames() : nil))
    settings.blocks?.forget(besides: tree.files(ofAtLeast: BlockSums.smallestFile))
    begin(export)
    try export.waitUntilRead()
    try check(roots)
    try lookAgain(at: batch, of: tree, roots, export)
    return export.result
  }

  /// How often files that belong together are sent again because one of them has changed.
  private static let mostRecaptures = 3

  /// Examines again the files that must be of one moment. Torn files are sent again in another
  /// session, which sends only changes. After some tries they are named, as are files made in a
  /// folder after it was listed.
  private func lookAgain(
    at batch: WorkList.Batch, of tree: SourceTree, _ roots: [SourceRoot], _ export: ArchiveExport<RealDirectory>
  ) throws(Failure) {
    let changed = tree.changedDirectories(of: roots)
    let found = tree.changedDatabases(in: changed, of: roots)
    let known = databases.withLock { databases in exchange(&databases, with: found) }
    // A file that has not changed since the end of the last try was read in its present state.
    var torn = found.filter { known[$0.key] != $0.value }.map(\.key)
    torn += export.torn(batch).compactMap { (try? tree.path($0))?.bytes }
    torn = Set(torn).sorted { $0.lexicographicallyPrecedes($1) }
    if let first = torn.first, recaptures.withLock({ $0 }) < Self.mostRecaptures {
      recaptures.withLock { $0 += 1 }
      throw Failure(
        .connection, "\(VisibleText.quoted(first)) changed while what belongs to it was sent; it is sent again",
        name: first)
    }
    export.name(torn.map { NotStored(path: $0, .torn) })
    export.name(tree.newNames(in: changed, of: roots, selecting: selection).map { NotStored(path: $0, .madeLater) })
  }

  /// The sources besides those that the receiver leaves out, which are then walked again.
  private func rest(
    besides leftOut: [[UInt8]], unless stop: StopSignal
  ) throws(Failure) -> ([SourceRoot], SourceTree) {
    guard let tree = tree.withLock({ $0 }) else { preconditionFailure("an export follows its walk") }
    if leftOut.isEmpty { return (roots, tree) }
    let rest = roots.filter { !leftOut.contains($0.name) }
    return (rest, try SourceWalk.walk(rest, selecting: selection) { stop.isSet })
  }

  /// Fails if a source has gone: then the rest of it could not be read.
  private func check(_ roots: [SourceRoot]) throws(Failure) {
    for root in roots {
      if (try? root.parent.directory.isFree(root.entry)) != true { continue }
      throw Failure(
        .exportFailed, "the source \(shown(root.name)) was moved away or removed while it was sent",
        hint: DataHint.putBack.text, name: root.name)
    }
  }
}
