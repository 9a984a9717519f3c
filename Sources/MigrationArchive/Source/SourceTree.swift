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
  /// The files with several names that have been counted.
  private var counted: Set<FileIdentity> = []

  /// The number of items, and the sum of the files' sizes.
  package private(set) var total = Tally()
  /// The disk space that the files take.
  package private(set) var allocated: UInt64 = 0
  /// The latest time of change that was seen on each device.
  package private(set) var latestChanges: [UInt64: Timestamp] = [:]
  /// The device of the last item and the latest change on it; the next item is usually on the same
  /// device.
  private var latest: (device: UInt64, change: Timestamp)?
  /// A stamp after this time was set by a program, on a file system without a time of change.
  private let horizon = Timestamp(seconds: Timestamp.coarseNow().seconds + 86_400)
  /// The items that were found and cannot be sent.
  package private(set) var unsent: [Unsent] = []

  package init() {}

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

  /// Adds an item. Returns its index.
  package mutating func add(_ name: Span<UInt8>, _ status: FileStatus, kind: ItemKind, parent: Int32) -> Int {
    noteChange(status)
    let isShared = kind == .file && status.linkCount > 1
    // A file with several names is in the archive once.
    let isFirst = !isShared || counted.insert(FileIdentity(device: status.device, inode: status.inode)).inserted
    let node = Node(
      parent: parent, kind: kind, nameLength: UInt8(name.count), isShared: isShared, isRepeated: !isFirst,
      nameStart: names.count, size: kind == .file || kind == .symbolicLink ? UInt64(status.size) : 0)
    nodes.append(node)
    let size = node.countedSize
    for index in name.indices { names.append(name[index]) }
    total.items += 1
    // Files with holes may have any size; every receiver refuses more than an offer can express.
    total.bytes = min(Limits.fileSize, total.bytes + size)
    if kind == .file, isFirst {
      allocated = min(Limits.fileSize, allocated + min(UInt64(status.allocatedBytes), (size + 4095) / 4096 * 4096))
    }
    return nodes.count - 1
  }

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

  mutating func note(_ unsent: Unsent) { self.unsent.append(unsent) }
}

extension ItemKind {
  /// The type under which the protocol carries a file system's type; nil for types that are not
  /// sent.
  init?(_ kind: FileKind) {
    switch kind {
    case .directory: self = .directory
    case .regular: self = .file
    case .symbolicLink: self = .symbolicLink
    default: return nil
    }
  }
}
