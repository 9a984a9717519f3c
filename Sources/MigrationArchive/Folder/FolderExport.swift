import MigrationSystem
package import MigrationWire

/// What becomes of files that changed while they were read.
private enum RestlessFile {
  /// The pauses before they are tried again.
  static let pauses: [Double] = [0.02, 0.1, 0.5, 2]
}

/// Goes through a walked tree and adds every item as it is now.
package struct FolderExport<Place: SourceDirectory> {
  /// The directories that the roots are in.
  private let roots: [Place]
  private let tree: SourceTree
  private let packer: FramePacker
  /// Where the roots go in the archive; nil for its top.
  private let prefix: ArchivePath?
  /// Directories whose records are in the archive already.
  private let merged: Set<Int>
  /// Whether owners and groups are sent.
  private let withOwners: Bool
  /// The first item that belongs to the archive and could not be sent.
  package private(set) var firstUnsent: Unsent?
  /// The directory that the last item was in, since the next one is mostly in it too.
  private var current: (parent: Int32, directory: Place, path: ArchivePath?)?
  /// The same for what is asked of the disk ahead of its turn.
  private var ahead: (parent: Int32, directory: Place)?
  private var readAhead = ReadAhead()
  private var restless: [Int] = []
  private var mustDrain = false
  /// What the destination lacks for each item of the tree; empty where it can hold everything.
  private let lacks: [DestinationTraits.Lack?]
  /// The first names of the files that have several and are in the archive, by generation.
  ///
  /// A name that leads to the same generation leads to the same file in the same state: what changed meanwhile, or took a
  /// number that became free, is sent by itself.
  private var linked: [Generation: Int] = [:]

  package init(
    roots: [Place], tree: SourceTree, packer: FramePacker, prefix: ArchivePath? = nil, merging merged: Set<Int> = [],
    withOwners: Bool = false
  ) {
    self.roots = roots
    self.tree = tree
    self.packer = packer
    self.prefix = prefix
    self.merged = merged
    self.withOwners = withOwners
    lacks = tree.lacks(of: packer.traits, beneath: prefix)
  }

  package mutating func run() throws(ArchiveError) {
    for unsent in tree.unsent { try name(unsent) }
    for index in tree.nodes.indices where !merged.contains(index) { try add(index) }
    for pause in RestlessFile.pauses where !restless.isEmpty {
      if mustDrain { try packer.drain() } else { try packer.flush() }
      mustDrain = false
      try packer.pause(seconds: pause)
      let again = restless
      restless = []
      for index in again { try add(index) }
    }
    for index in restless { try unsent(index, .keepsChanging, nil) }
    try packer.flush()
  }

  private mutating func add(_ index: Int) throws(ArchiveError) {
    let node = tree.nodes[index]
    let name = tree.name(node)
    do {
      if !lacks.isEmpty, let lack = lacks[index] {
        let inner = try tree.path(index)
        return try packer.withhold(prefix?.appending(inner) ?? inner, lack, size: node.countedSize)
      }
      let directory = try enter(node.parent)
      let path = try itemPath(name)
      switch node.kind {
      case .file: try addFile(index, name, path, in: directory)
      case .directory, .symbolicLink, .hardLink: try addOther(index, name, path, in: directory)
      }
    } catch let error as ArchiveError {
      try fail(index, error)
    } catch let error as SystemError {
      try unsent(index, error.isNotFound ? .vanished : .unreadable, error.words)
    } catch {
      try unsent(index, .beyondLimits, nil)
    }
  }

  private mutating func addFile(
    _ index: Int, _ name: ArraySlice<UInt8>, _ path: ArchivePath, in directory: Place
  ) throws(ArchiveError) {
    // Before its other names are looked at: a link to what is left out would lead nowhere.
    if packer.isMerging, let status = try? directory.status(name), status.kind == .regular,
      try packer.leaveOut(path, status)
    {
      return
    }
    let isShared = tree.nodes[index].isShared
    if isShared, try addLink(name, path, in: directory) { return }
    var export = FileExport(packer: packer, directory: directory, path: path, name: name, withOwner: withOwners)
    switch try export.run() {
    case .sent(let generation): if isShared { linked[generation] = index }
    case .changed(let startedChunks):
      restless.append(index)
      mustDrain = mustDrain || startedChunks
    case .withheld: break
    }
    if Place.canFetch, let seconds = export.readSeconds { fetch(behind: index, after: seconds) }
  }

  /// Asks the disk for small files whose turn comes soon, if reading is what takes the time.
  private mutating func fetch(behind index: Int, after seconds: Double) {
    let wanted = readAhead.read(index, of: tree.nodes.count, bytes: tree.nodes[index].countedSize, seconds: seconds)
    for other in wanted {
      let node = tree.nodes[other]
      guard node.kind == .file, (1...UInt64(packer.sizes.smallFile)).contains(node.countedSize) else { continue }
      if ahead?.parent != node.parent {
        // Whatever is wrong with it is found when it is its turn.
        guard let directory = try? open(node.parent) else { continue }
        ahead = (node.parent, directory)
      }
      ahead?.directory.fetch(tree.name(node), length: Int(node.size))
    }
  }

  /// Adds another name of a file that is in the archive; false if it leads to none.
  private func addLink(
    _ name: ArraySlice<UInt8>, _ path: ArchivePath, in directory: Place
  ) throws(ArchiveError) -> Bool {
    guard !linked.isEmpty, let status = try? directory.status(name), status.kind == .regular else { return false }
    let generation = packer.generation(of: status.fingerprint(on: directory.fileSystem(of: status)))
    guard let first = linked[generation], let inner = try? tree.path(first),
      let target = try? prefix?.appending(inner) ?? inner
    else { return false }
    try packer.add(
      ItemRecord(
        path: path, generation: packer.generation(ofLinkTo: target, generation), body: .hardLink(target: target)))
    return true
  }

  private mutating func addOther(
    _ index: Int, _ name: ArraySlice<UInt8>, _ path: ArchivePath, in directory: Place
  ) throws {
    let look = try directory.look { () throws(SystemError) in try directory.status(name) }
    let status = look.status
    let target = status.kind == .symbolicLink ? try directory.readLink(name) : nil
    if let target, packer.isMerging, try packer.leaveOut(path, status, target: target) { return }
    let generation = packer.generation(of: look.fingerprint(on: directory.fileSystem(of: status)))
    guard ItemKind(status.kind) == tree.nodes[index].kind,
      var record = ItemRecord(
        status, path: path, generation: generation, target: target, withOwner: withOwners)
    else {
      return try unsent(index, .vanished, "it was replaced by something else")
    }
    var extended = ExtendedMetadata()
    if status.kind == .directory { extended = try directory.extendedMetadata(ofDirectory: name) }
    record.add(extended)
    try packer.add(record)
    packer.leaveBehind(extended.leftBehind)
  }

  /// Opens the directory that an item is in, unless the last item was in it too.
  private mutating func enter(_ parent: Int32) throws -> Place {
    if let current, current.parent == parent { return current.directory }
    let directory = try open(parent)
    current = (parent, directory, parent < 0 ? nil : try tree.path(Int(parent)))
    return directory
  }

  private func open(_ parent: Int32) throws -> Place {
    if parent < 0 { return roots[Int(-1 - parent)] }
    return try roots[rootNumber(of: parent)].directory(at: try tree.path(Int(parent)))
  }

  private func itemPath(_ name: ArraySlice<UInt8>) throws(Violation) -> ArchivePath {
    let inner: ArchivePath
    if let path = current?.path {
      inner = try path.appending(name.span)
    } else if let prefix {
      return try prefix.appending(name.span)
    } else {
      return try ArchivePath(Array(name))
    }
    return try prefix?.appending(inner) ?? inner
  }

  private func rootNumber(of parent: Int32) -> Int {
    var current = parent
    while current >= 0 { current = tree.nodes[Int(current)].parent }
    return Int(-1 - current)
  }

  /// A file that cannot be read is named; a transfer that is over ends the export.
  private mutating func fail(_ index: Int, _ error: ArchiveError) throws(ArchiveError) {
    guard error.code == .storage || error.code == .noSpace, let cause = error.cause else { throw error }
    // Chunks of it may be under way; the receiver drops what never becomes complete.
    try unsent(index, cause.isNotFound ? .vanished : .unreadable, cause.words)
  }

  private mutating func unsent(_ index: Int, _ reason: Unsent.Reason, _ message: String?) throws(ArchiveError) {
    let path = (try? tree.path(index))?.bytes ?? Array(tree.name(tree.nodes[index]))
    try name(Unsent(path: path, reason: reason, message: message))
  }

  /// Names an item, whose path begins at the roots, as the archive calls it.
  private mutating func name(_ unsent: Unsent) throws(ArchiveError) {
    let path = (prefix.map { $0.bytes + [UInt8(ascii: "/")] } ?? []) + unsent.path
    let named = Unsent(path: path, reason: unsent.reason, message: unsent.message)
    if firstUnsent == nil, named.reason != .notSendable { firstUnsent = named }
    try packer.unsent(named)
  }
}
