package import MigrationSystem
package import MigrationWire

/// The items of a folder transfer as a walk found them: names and sizes only, packed tightly.
///
/// A directory's files stand together, in front of its subdirectories, so that whoever goes through in order opens each
/// directory once.
package struct SourceTree: Sendable {
  /// One item: where it hangs, what it is called, how large it was.
  package struct Node: Sendable {
    /// The index of its directory's node; the root's own number for a root, as `-1 - root`.
    let parent: Int32
    let kind: ItemKind
    let nameLength: UInt8
    /// A file that had other names too.
    let isShared: Bool
    /// Another name of a file that is in the tree already.
    let isRepeated: Bool
    let nameStart: Int
    /// The bytes of a file, or of a symbolic link's target.
    let size: UInt64

    /// What it adds to the files' sizes.
    var countedSize: UInt64 { kind == .file && !isRepeated ? size : 0 }
  }

  package private(set) var nodes: [Node] = []
  private var names: [UInt8] = []
  /// The files with several names that have been counted.
  private var counted: Set<FileIdentity> = []

  /// All items, and the sum of the files' sizes.
  package private(set) var total = Tally()
  /// What the files take on disk.
  package private(set) var allocated: UInt64 = 0
  /// The latest time of change that was seen on each device.
  package private(set) var latestChanges: [UInt64: Timestamp] = [:]
  /// The device that the last item was on, since the next one is mostly on it too, and the latest change there.
  private var latest: (device: UInt64, change: Timestamp)?
  /// What lies behind this was set by a program where there is no time of change.
  private let horizon = Timestamp(seconds: Timestamp.coarseNow().seconds + 86_400)
  /// What was seen and cannot be sent.
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

  /// Adds an item; its index.
  package mutating func add(_ name: Span<UInt8>, _ status: FileStatus, kind: ItemKind, parent: Int32) -> Int {
    noteChange(status)
    let isShared = kind == .file && status.linkCount > 1
    // What a file's other names lead to is in the archive once.
    let isFirst = !isShared || counted.insert(FileIdentity(device: status.device, inode: status.inode)).inserted
    let node = Node(
      parent: parent, kind: kind, nameLength: UInt8(name.count), isShared: isShared, isRepeated: !isFirst,
      nameStart: names.count, size: kind == .file || kind == .symbolicLink ? UInt64(status.size) : 0)
    nodes.append(node)
    let size = node.countedSize
    for index in name.indices { names.append(name[index]) }
    total.items += 1
    // Files with holes may be as large as they please; more than an offer can say is refused by every receiver.
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

  /// Which file a name leads to.
  private struct FileIdentity: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  mutating func note(_ unsent: Unsent) { self.unsent.append(unsent) }
}

extension ItemKind {
  /// What a file system's kind travels as; nil for what does not.
  init?(_ kind: FileKind) {
    switch kind {
    case .directory: self = .directory
    case .regular: self = .file
    case .symbolicLink: self = .symbolicLink
    default: return nil
    }
  }
}
