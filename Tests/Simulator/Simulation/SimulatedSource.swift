import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire

/// A file, directory or link at the source, with its history.
final class SourceNode {
  let inode: UInt64
  let kind: FileKind
  var data: [UInt8] = []
  var target: [UInt8] = []
  var mode: UInt32
  var modified: Timestamp
  var changed: Timestamp
  var children: [[UInt8]: SourceNode] = [:]
  /// How many names it has.
  var links = 0
  var extended = ExtendedMetadata()

  init(inode: UInt64, kind: FileKind, mode: UInt32, at time: Timestamp) {
    self.inode = inode
    self.kind = kind
    self.mode = mode
    modified = time
    changed = time
  }

  var names: [[UInt8]] { children.keys.sorted { $0.lexicographicallyPrecedes($1) } }
}

/// One state of an item that was found under a path.
struct Version: Equatable {
  let inode: UInt64
  let kind: FileKind
  let data: [UInt8]
  let target: [UInt8]
  let mode: UInt32
  let modified: Timestamp
  let changed: Timestamp
  let extended: ExtendedMetadata
}

/// The sender's files in memory, which keep changing.
final class SimulatedSource: @unchecked Sendable {
  // Unchecked: a simulation has one thread.

  /// The resolution of the file system's clock, in microseconds.
  private let tick: Int

  let world: World
  let mutation: Mutation?
  /// Holds the roots.
  let top: SourceNode
  /// The items that were ever found under a path, and until when.
  private var occupants: [[UInt8]: [UInt64: Int]] = [:]
  /// Every directory that was ever found, by its number.
  private var directories: [UInt64: SourceNode] = [:]
  /// The items that came into a directory after it had lost its path, by the path that each would
  /// have had, and until when each counts as found there.
  private var latecomers: [[UInt8]: [UInt64: Int]] = [:]
  /// Every state of every item, by its number, and until when it was current.
  private var states: [UInt64: [(version: Version, until: Int)]] = [:]
  private(set) var lastChange = 0
  /// The number of changes, including the first, which makes the roots.
  private(set) var changes = 0
  private var nextInode: UInt64 = 100
  /// How many changes may still come.
  var changesLeft = 0
  /// Called when the export reads a file's content.
  var reader: ((_ path: [UInt8], _ version: Version, _ range: Range<UInt64>) -> Void)?
  /// A file that is edited in place once more while it is read.
  var editedAgain: SourceNode?

  init(_ world: World, mutation: Mutation?) {
    self.world = world
    self.mutation = mutation
    tick = [1_000, 4_000, 10_000][world.dice.roll(0...2)]
    top = SourceNode(inode: 1, kind: .directory, mode: 0o755, at: Timestamp(seconds: 1_000, nanoseconds: 0))
  }

  /// The current time stamp of the file system.
  var stamp: Timestamp {
    let micros = world.now / tick * tick
    return Timestamp(seconds: 1_000 + Int64(micros / 1_000_000), nanoseconds: UInt32(micros % 1_000_000) * 1_000 + 1)
  }

  func make(_ kind: FileKind) -> SourceNode {
    nextInode += 1
    let mode: UInt32 =
      kind == .directory
      ? [0o755, 0o700, 0o500][world.dice.roll(0...2)] : [0o644, 0o600, 0o444][world.dice.roll(0...2)]
    let node = SourceNode(inode: nextInode, kind: kind, mode: mode, at: stamp)
    switch kind {
    case .regular: node.data = content(world.dice.one(in: 3) ? world.dice.roll(0...6_000) : world.dice.roll(0...600))
    case .symbolicLink: node.target = world.dice.bytes(3).map { $0 | 1 }
    default: break
    }
    if kind != .symbolicLink, world.dice.one(in: 4) { node.extended = extendedMetadata(of: kind) }
    return node
  }

  /// The attributes of an item; now and then more of one sort than of another.
  func extendedMetadata(of kind: FileKind) -> ExtendedMetadata {
    var extended = ExtendedMetadata()
    for name in ["user.a", "user.b"] where world.dice.one(in: 2) {
      extended.attributes.append(ExtendedAttribute(name: Array(name.utf8), value: world.dice.bytes(3)))
    }
    let entry = AccessEntry(subject: .mask, permissions: UInt8(world.dice.roll(0...7)), id: 0)
    if world.dice.one(in: 2) { extended.accessList = [entry] }
    if kind == .directory, world.dice.one(in: 2) { extended.defaultAccessList = [entry] }
    return extended
  }

  /// Random bytes, now and then with holes.
  private func content(_ count: Int) -> [UInt8] {
    var bytes = world.dice.bytes(count)
    if count > 1_500, world.dice.one(in: 2) {
      let start = world.dice.roll(0...count - 1)
      for index in start..<min(count, start + world.dice.roll(1...4_000)) { bytes[index] = 0 }
    }
    return bytes
  }

  func put(_ node: SourceNode, _ name: [UInt8], in directory: SourceNode) {
    if let old = directory.children[name] { unlink(old, name, in: directory) }
    directory.children[name] = node
    node.links += 1
    if node.links > 1 { node.changed = stamp }
    touch(directory)
  }

  func unlink(_ node: SourceNode, _ name: [UInt8], in directory: SourceNode) {
    directory.children[name] = nil
    node.links -= 1
    node.changed = stamp
    touch(directory)
  }

  func touch(_ node: SourceNode) {
    node.modified = stamp
    node.changed = stamp
  }

  // MARK: History

  static func version(_ node: SourceNode) -> Version {
    Version(
      inode: node.inode, kind: node.kind, data: node.data, target: node.target, mode: node.mode,
      modified: node.modified, changed: node.changed, extended: node.extended)
  }

  /// All items as they are now, by path.
  var current: [[UInt8]: Version] { nodes.mapValues(Self.version) }

  private var nodes: [[UInt8]: SourceNode] {
    var found: [[UInt8]: SourceNode] = [:]
    var pending: [([UInt8], SourceNode)] = top.names.map { ($0, top.children[$0]!) }
    while let (path, node) = pending.popLast() {
      found[path] = node
      for name in node.names { pending.append((path + [UInt8(ascii: "/")] + name, node.children[name]!)) }
    }
    return found
  }

  /// Something has changed: the previous states become history. `node` may have lost all its names,
  /// and still be read.
  func record(_ node: SourceNode? = nil) {
    changes += 1
    lastChange = world.now
    let now = nodes
    for (path, node) in now {
      occupants[path, default: [:]][node.inode] = Int.max
      if node.kind == .directory { directories[node.inode] = node }
      note(Self.version(node))
    }
    for (path, numbers) in occupants {
      for (number, until) in numbers where until == Int.max && number != now[path]?.inode {
        occupants[path]?[number] = world.now
      }
    }
    noteLatecomers()
    if let node { note(Self.version(node)) }
  }

  /// An export that has opened a directory finds its contents even if the directory has lost its
  /// own name: later contents count as found at the moment of that loss.
  private func noteLatecomers() {
    for (path, numbers) in occupants {
      for (number, until) in numbers where until != Int.max {
        for (name, child) in directories[number]?.children ?? [:] {
          let place = path + [UInt8(ascii: "/")] + name
          latecomers[place, default: [:]][child.inode] = max(latecomers[place]?[child.inode] ?? until, until)
          note(Self.version(child))
        }
      }
    }
  }

  private func note(_ version: Version) {
    var versions = states[version.inode, default: []]
    guard versions.last?.version != version else { return }
    if !versions.isEmpty { versions[versions.count - 1].until = world.now }
    versions.append((version, Int.max))
    states[version.inode] = versions
  }

  /// Every state of every item that was ever found under a path, and until when it had that state.
  /// A process that has opened a file may read it after it lost its name, and one that has opened a
  /// directory may read its contents.
  func history(of path: [UInt8]) -> [(version: Version, until: Int)] {
    let found = occupants[path, default: [:]].merging(latecomers[path, default: [:]], uniquingKeysWith: max)
    return found.sorted { $0.key < $1.key }.flatMap { number, left in
      states[number, default: []].map { ($0.version, min($0.until, left)) }
    }
  }
}

/// A directory of the simulated source.
///
/// Unchecked: a simulation has one thread.
final class SimulatedDirectory: SourceDirectory, @unchecked Sendable {
  private let node: SourceNode
  private let source: SimulatedSource
  private let path: [UInt8]

  init(_ node: SourceNode, _ source: SimulatedSource, at path: [UInt8]) {
    self.node = node
    self.source = source
    self.path = path
  }

  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> SimulatedSourceFile {
    SimulatedSourceFile(try child(name), source, at: path + (path.isEmpty ? [] : [UInt8(ascii: "/")]) + name)
  }

  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus { source.status(of: try child(name)) }

  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] { try child(name).target }

  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    try child(name).extended
  }

  func directory(at path: ArchivePath) throws(SystemError) -> SimulatedDirectory {
    var node = node
    for name in path.components {
      guard let next = node.children[Array(name)] else { throw SystemError(errno: ENOENT, operation: "open") }
      guard next.kind == .directory else { throw SystemError(errno: ENOTDIR, operation: "open") }
      node = next
    }
    return SimulatedDirectory(node, source, at: path.bytes)
  }

  func fileSystem(of status: FileStatus) -> UInt64 { 77 }

  var datesChanges: Bool { true }

  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceStatus {
    // The clock is read first: a time stamp that was in the past then cannot be given again.
    let now = source.mutation == .ignoreGranularity ? Timestamp(seconds: 9_000_000, nanoseconds: 0) : source.stamp
    return SourceStatus(status: try status(), at: now)
  }

  private func child(_ name: ArraySlice<UInt8>) throws(SystemError) -> SourceNode {
    guard let child = node.children[Array(name)] else { throw SystemError(errno: ENOENT, operation: "open") }
    return child
  }
}

/// An open file of the simulated source; it may change between any two bytes.
///
/// Unchecked: a simulation has one thread.
final class SimulatedSourceFile: SourceFile, @unchecked Sendable {
  // Unchecked: a simulation has one thread.
  private let node: SourceNode
  private let source: SimulatedSource
  private let path: [UInt8]

  init(_ node: SourceNode, _ source: SimulatedSource, at path: [UInt8]) {
    self.node = node
    self.source = source
    self.path = path
  }

  func status() throws(SystemError) -> FileStatus {
    source.changeNowAndThen(preferring: node)
    return source.status(of: node)
  }

  func extendedMetadata() throws(SystemError) -> ExtendedMetadata {
    source.changeNowAndThen(preferring: node)
    return node.extended
  }

  func readFully(at offset: Int64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    let end = min(node.data.count, Int(offset) + memory.count)
    if Int(offset) < end {
      source.reader?(path, SimulatedSource.version(node), UInt64(offset)..<UInt64(end))
    }
    var done = 0
    while done < memory.count, Int(offset) + done < node.data.count {
      let part = min(source.world.dice.roll(1...700), memory.count - done, node.data.count - Int(offset) - done)
      let start = Int(offset) + done
      memory.withUnsafeMutableBytes { buffer in
        UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + part]).copyBytes(
          from: node.data[start..<start + part])
      }
      done += part
      source.changeNowAndThen(preferring: node)
    }
    return done
  }

  func adviseSequential() {}

  func nextData(from offset: Int64) throws(SystemError) -> Int64? {
    SourceHoles.nextData(node.data, Int(offset)).map(Int64.init)
  }

  func nextHole(from offset: Int64) throws(SystemError) -> Int64? {
    SourceHoles.nextHole(node.data, Int(offset)).map(Int64.init)
  }
}

/// The holes of a file: blocks that are all zeros.
enum SourceHoles {
  private static let block = 512

  static func isHole(_ data: [UInt8], _ block: Int) -> Bool {
    let end = min(data.count, (block + 1) * Self.block)
    return data[block * Self.block..<end].allSatisfy { $0 == 0 }
  }

  static func allocated(_ data: [UInt8]) -> Int {
    (0..<(data.count + block - 1) / block).reduce(0) { $0 + (isHole(data, $1) ? 0 : block) }
  }

  static func nextData(_ data: [UInt8], _ offset: Int) -> Int? { next(data, offset, isHole: false) }

  static func nextHole(_ data: [UInt8], _ offset: Int) -> Int? {
    offset < data.count ? next(data, offset, isHole: true) ?? data.count : nil
  }

  private static func next(_ data: [UInt8], _ offset: Int, isHole wanted: Bool) -> Int? {
    var position = offset
    while position < data.count {
      if isHole(data, position / block) == wanted { return position }
      position = (position / block + 1) * block
    }
    return nil
  }
}

extension SimulatedSource {
  func status(of node: SourceNode) -> FileStatus {
    let isBlind = mutation == .ignoreFingerprint
    let still = Timestamp(seconds: 5, nanoseconds: 5)
    return FileStatus(
      kind: node.kind, mode: node.mode, size: Int64(node.kind == .regular ? node.data.count : 10),
      allocatedBytes: Int64(node.kind == .regular ? SourceHoles.allocated(node.data) : 0), device: 77,
      inode: node.inode, linkCount: UInt64(node.links),
      modified: isBlind ? still : node.modified, changed: isBlind ? still : node.changed)
  }

  /// Lists everything by metadata alone, as the real walk does.
  func walk(_ roots: [[UInt8]]) -> (tree: SourceTree, roots: [SimulatedDirectory]) {
    var tree = SourceTree()
    for (index, name) in roots.enumerated() {
      guard let root = top.children[name] else { continue }
      let number = tree.add(name.span, status(of: root), kind: kind(root), parent: Int32(-1 - index))
      var pending = root.kind == .directory ? [(root, number)] : []
      while let (directory, parent) = pending.popLast() {
        var directories: [(SourceNode, Int)] = []
        let children = directory.names.map { ($0, directory.children[$0]!) }
        for (name, child) in children where child.kind != .directory {
          _ = tree.add(name.span, status(of: child), kind: kind(child), parent: Int32(parent))
        }
        for (name, child) in children where child.kind == .directory {
          directories.append((child, tree.add(name.span, status(of: child), kind: .directory, parent: Int32(parent))))
        }
        pending += directories.reversed()
      }
    }
    let place = SimulatedDirectory(top, self, at: [])
    return (tree, roots.map { _ in place })
  }

  private func kind(_ node: SourceNode) -> ItemKind {
    switch node.kind {
    case .directory: .directory
    case .symbolicLink: .symbolicLink
    default: .file
    }
  }
}
