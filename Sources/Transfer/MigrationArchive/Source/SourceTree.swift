package import MigrationSystem
package import MigrationWire

/// The items of a folder transfer as a walk found them: only names and sizes, densely packed.
///
/// The files of a directory are adjacent and precede its subdirectories, so that a reader that
/// processes them in order opens each directory once.
package struct SourceTree: Sendable {
  /// One item: its parent, its name, its size.
  package struct Node: Sendable {
    /// The index of the parent directory's node; for a root, the root's own number, as `-1 - root`.
    let parent: Int32
    let kind: ItemKind
    let nameLength: UInt8
    /// Whether the file had other names too.
    let isShared: Bool
    /// Whether this is another name of a file that is already in the tree.
    let isRepeated: Bool
    let nameStart: Int
    /// The size of a file, or of a symbolic link's target, in bytes.
    let size: UInt64

    /// The bytes that it adds to the total size.
    var countedSize: UInt64 { kind == .file && !isRepeated ? size : 0 }
  }

  package private(set) var nodes: [Node] = []
  private var names: [UInt8] = []
  /// The flags of the file system, and the further names of symbolic links, none of which is carried.
  private(set) var lostAttributes = AttributeCount()
  /// The files and symbolic links with several names that have been counted.
  private var counted: Set<FileIdentity> = []

  /// The number of items, and the sum of the files' sizes.
  package private(set) var total = Tally()
  /// The disk space that the files take.
  package private(set) var allocated: UInt64 = 0
  /// The sizes of the files that have changed since a moment, if the walk was given one.
  package private(set) var changedBytes: UInt64 = 0
  /// Whether anything has.
  package private(set) var hasChanged = false
  private let moment: Timestamp?
  /// When the walk began.
  private(set) var begun = Timestamp.coarseNow()
  /// The latest time of change that was seen on each device.
  package private(set) var latestChanges: [UInt64: Timestamp] = [:]
  /// The device of the last item and the latest change on it; the next item is usually on the same
  /// device.
  private var latest: (device: UInt64, change: Timestamp)?
  /// A stamp after this time was set by a program, on a file system without a time of change.
  private let horizon = Timestamp(seconds: Timestamp.coarseNow().seconds + 86_400)
  /// The items that were found and cannot be sent.
  package private(set) var unsent: [NotStored] = []
  /// The directories where other file systems begin, and those where file systems of the kernel do,
  /// which are left out.
  package private(set) var mountPoints: [[UInt8]] = []
  package private(set) var kernelMountPoints: [[UInt8]] = []

  /// The times of change that the walked directories had before they were listed, by their nodes;
  /// nil for a directory whose time may hide a further change.
  private(set) var listings: [Int32: Timestamp?] = [:]
  /// The first directories that the selection leaves out.
  package private(set) var leftOut: [[UInt8]] = []
  private static let mostLeftOut = 1000

  /// A tree without items. Files that have changed since the moment are counted apart.
  package init(countingSince moment: Timestamp? = nil) { self.moment = moment }

  /// The name of a node.
  func name(_ node: Node) -> ArraySlice<UInt8> {
    names[node.nameStart..<node.nameStart + Int(node.nameLength)]
  }

  /// The path of a node within the archive, root name first.
  func path(_ index: Int) throws(Violation) -> ArchivePath {
    var parts: [ArraySlice<UInt8>] = []
    var current = index
    while current >= 0 {
      parts.append(name(nodes[current]))
      current = Int(nodes[current].parent)
    }
    return try ArchivePath(Array(parts.reversed().joined(separator: CollectionOfOne(UInt8(ascii: "/")))))
  }

  /// The paths of the files of at least a size.
  func files(ofAtLeast size: UInt64) -> [ArchivePath] {
    nodes.indices.compactMap { nodes[$0].kind == .file && nodes[$0].size >= size ? try? path($0) : nil }
  }

  /// Adds an item. Returns its index.
  package mutating func add(
    _ name: Span<UInt8>, _ status: FileStatus, _ flags: FileFlags = [], kind: ItemKind, parent: Int32
  ) -> Int {
    noteChange(status)
    for (flag, name) in Self.flags where flags.contains(flag) { lostAttributes.note(name) }
    let isShared = kind == .file && status.linkCount > 1
    // A file with several names is in the archive once.
    let isFirst =
      kind == .directory || status.linkCount == 1
      || counted.insert(FileIdentity(device: status.device, inode: status.inode)).inserted
    if !isFirst, kind == .symbolicLink { lostAttributes.note(Array("hard link".utf8)) }
    let node = Node(
      parent: parent, kind: kind, nameLength: UInt8(name.count), isShared: isShared, isRepeated: isShared && !isFirst,
      nameStart: names.count, size: kind == .file || kind == .symbolicLink ? UInt64(status.size) : 0)
    nodes.append(node)
    let size = node.countedSize
    for index in name.indices { names.append(name[index]) }
    total.items += 1
    // Files with holes may have any size; every receiver refuses more than an offer can express.
    total.bytes = min(Limits.fileSize, total.bytes + size)
    if let moment, max(status.changed, status.modified) >= moment {
      hasChanged = true
      changedBytes = min(Limits.fileSize, changedBytes + size)
    }
    if kind == .file, isFirst {
      allocated = min(Limits.fileSize, allocated + min(UInt64(status.allocatedBytes), (size + 4095) / 4096 * 4096))
    }
    return nodes.count - 1
  }

  /// The flags that are named, as chattr(1) writes them.
  private static let flags: [(FileFlags, name: [UInt8])] = [
    (.immutable, Array("chattr +i".utf8)), (.appendOnly, Array("chattr +a".utf8)), (.noDump, Array("chattr +d".utf8)),
    (.compressed, Array("chattr +c".utf8)),
  ]

  private mutating func noteChange(_ status: FileStatus) {
    guard status.changed < horizon else { return }
    if let latest, latest.device == status.device, status.changed <= latest.change { return }
    let change = max(status.changed, latestChanges[status.device] ?? status.changed)
    latestChanges[status.device] = change
    latest = (status.device, change)
  }

  /// The file that a name refers to.
  private struct FileIdentity: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  mutating func note(_ unsent: NotStored) { self.unsent.append(unsent) }

  /// An open directory is about to be listed.
  mutating func note(listing number: Int32, of directory: borrowing Directory, _ status: FileStatus) {
    let now = Timestamp.coarseNow()
    let isOld =
      now.seconds(since: status.changed) > Self.coarsest
      || status.unsettledSeconds(at: now) == 0 && directory.stampKeeping == .ownClock
    listings[number] = .some(isOld ? status.changed : nil)
  }

  /// The seconds for which the coarsest file systems give out one stamp.
  private static let coarsest = 2.0

  /// Adds the items of a root that was walked by itself, under the root's number here; false if a file in
  /// it has another name in this tree.
  mutating func append(_ other: SourceTree, asRoot root: Int) -> Bool {
    guard counted.isDisjoint(with: other.counted) else { return false }
    let (first, start) = (Int32(nodes.count), names.count)
    names += other.names
    nodes += other.nodes.map { node in
      Node(
        parent: node.parent < 0 ? Int32(-1 - root) : first + node.parent, kind: node.kind,
        nameLength: node.nameLength, isShared: node.isShared, isRepeated: node.isRepeated,
        nameStart: start + node.nameStart, size: node.size)
    }
    counted.formUnion(other.counted)
    lostAttributes.add(other.lostAttributes)
    total = Tally(
      items: total.items + other.total.items, bytes: min(Limits.fileSize, total.bytes + other.total.bytes))
    allocated = min(Limits.fileSize, allocated + other.allocated)
    latestChanges.merge(other.latestChanges) { max($0, $1) }
    begun = min(begun, other.begun)
    latest = nil
    unsent += other.unsent
    mountPoints += other.mountPoints
    kernelMountPoints += other.kernelMountPoints
    for (directory, stamp) in other.listings { listings[first + directory] = .some(stamp) }
    leftOut += other.leftOut.prefix(max(0, Self.mostLeftOut - leftOut.count))
    return true
  }

  mutating func note(leftOut path: [UInt8]) {
    if leftOut.count < Self.mostLeftOut { leftOut.append(path) }
  }

  mutating func note(mountPoint path: [UInt8], isKernels: Bool) {
    if isKernels { kernelMountPoints.append(path) } else { mountPoints.append(path) }
  }
}

extension ItemKind {
  /// The type under which the protocol carries a file system's type; nil for types that are not
  /// sent.
  package init?(_ kind: FileKind) {
    switch kind {
    case .directory: self = .directory
    case .regular: self = .file
    case .symbolicLink: self = .symbolicLink
    default: return nil
    }
  }
}
