import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire

/// An open file of the simulated disk.
final class SimulatedFile: StagedFile, @unchecked Sendable {
  // Unchecked: a simulation has one thread.
  private let node: Node
  private let disk: SimulatedDisk

  init(_ node: Node, _ disk: SimulatedDisk) {
    self.node = node
    self.disk = disk
  }

  func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
    let array = bytes.withUnsafeBytes { Array($0) }
    try checkBounds(Int(offset) + array.count)
    do {
      try disk.operate()
    } catch {
      // A failed write may have been done in part.
      if disk.world.dice.one(in: 2), !array.isEmpty {
        node.write(.data(Int(offset), Array(array.prefix(disk.world.dice.roll(0...array.count)))))
      }
      throw error
    }
    node.write(.data(Int(offset), array))
  }

  func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try disk.operate(mayFail: false)
    let data = node.state.data
    guard Int(offset) < data.count else { return 0 }
    let count = min(memory.count, data.count - Int(offset))
    memory.withUnsafeMutableBytes { $0.copyBytes(from: data[Int(offset)..<Int(offset) + count]) }
    return count
  }

  func size() throws(SystemError) -> UInt64 {
    try disk.operate(mayFail: false)
    return UInt64(node.state.data.count)
  }

  func truncate(to size: UInt64) throws(SystemError) {
    try checkBounds(Int(size))
    try disk.operate()
    node.write(.size(Int(size)))
  }

  private func checkBounds(_ end: Int) throws(SystemError) {
    if !node.isJournal { try disk.checkBounds(end) }
  }

  func clear(_ range: Range<UInt64>) throws(SystemError) {
    try disk.operate()
    let end = min(Int(range.upperBound), node.state.data.count)
    guard Int(range.lowerBound) < end else { return }
    node.write(.data(Int(range.lowerBound), [UInt8](repeating: 0, count: end - Int(range.lowerBound))))
  }

  func setMode(_ mode: UInt32) throws(SystemError) {
    try disk.operate(mayFail: false)
    node.write(.mode(mode))
  }

  func setOwner(_ owner: ItemRecord.Owner) throws(SystemError) { try disk.operate(mayFail: false) }

  func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError) {
    try disk.operate(mayFail: false)
    // An attribute cannot be written to a read-only item.
    guard node.state.mode & 0o200 != 0 else { throw SystemError(noPermission: "set an attribute") }
    node.write(.attribute(attribute.name, attribute.value))
  }

  func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try disk.operate(mayFail: false)
    node.write(.attribute(SimulatedPlaces.listName(kind), SimulatedPlaces.bytes(list)))
  }

  func clearExtendedMetadata() throws(SystemError) {
    try disk.operate(mayFail: false)
    node.clearExtendedMetadata()
  }

  func setTimes(modified: Timestamp) throws(SystemError) {
    try disk.operate(mayFail: false)
    node.write(.time(modified))
  }

  func synchronize() throws(SystemError) {
    try disk.operate()
    node.commit(node.pending.count)
  }
}

/// A tree of the simulated disk, by paths.
final class SimulatedPlaces: StagingPlaces {
  private let disk: SimulatedDisk
  /// The directory at which the paths begin.
  private let root: Node

  init(_ disk: SimulatedDisk, beneath root: Node) {
    self.disk = disk
    self.root = root
  }

  func createFile(_ path: ArchivePath, mode: UInt32) throws(SystemError) -> any StagedFile {
    let node = disk.node(.regular)
    try make(path, node)
    node.write(.mode(mode))
    return SimulatedFile(node, disk)
  }

  func openFile(_ path: ArchivePath) throws(SystemError) -> any StagedFile {
    try disk.operate(mayFail: false)
    let node = try found(path)
    guard node.kind == .regular else { throw SystemError(errno: EISDIR, operation: "open") }
    // It may have its final rights already.
    if node.state.mode & 0o600 != 0o600 { node.write(.mode(0o600)) }
    return SimulatedFile(node, disk)
  }

  func size(of path: ArchivePath) throws(SystemError) -> UInt64? {
    try disk.operate(mayFail: false)
    guard let node = try? found(path), node.kind == .regular else { return nil }
    return UInt64(node.state.data.count)
  }

  func makeDirectory(_ path: ArchivePath) throws(SystemError) {
    try disk.operate()
    _ = try directory(path.bytes, making: true)
  }

  func makeSymbolicLink(_ path: ArchivePath, target: [UInt8]) throws(SystemError) {
    let node = disk.node(.symbolicLink)
    node.target = target
    try make(path, node)
  }

  func makeHardLink(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    guard disk.hasHardLinks else { throw SystemError(errno: EPERM, operation: "link") }
    try make(path, try found(target))
  }

  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError) {
    let state = try found(target).state
    let node = disk.node(.regular)
    try make(path, node)
    node.write(.data(0, state.data))
    node.write(.mode(state.mode))
    for (name, value) in state.attributes { node.write(.attribute(name, value)) }
    if let modified = state.modified { node.write(.time(modified)) }
  }

  func remove(_ path: ArchivePath) throws(SystemError) {
    try disk.operate(mayFail: false)
    guard let parent = try? directory(path.parent?.bytes ?? [], making: false), parent.entries[Array(path.name)] != nil
    else { return }
    disk.unlink(parent, Array(path.name))
  }

  func removeIfEmpty(_ path: ArchivePath) throws(SystemError) -> Bool {
    try disk.operate(mayFail: false)
    guard let node = try? found(path), node.kind == .directory else { return true }
    guard node.entries.isEmpty else { return false }
    disk.unlink(try directory(path.parent?.bytes ?? [], making: false), Array(path.name))
    return true
  }

  func kind(of path: ArchivePath) throws(SystemError) -> FileKind? {
    try disk.operate(mayFail: false)
    return (try? found(path))?.kind
  }

  func readLink(_ path: ArchivePath) throws(SystemError) -> [UInt8] {
    try disk.operate(mayFail: false)
    return try found(path).target
  }

  func setTimes(_ path: ArchivePath, modified: Timestamp) throws(SystemError) {
    try disk.operate(mayFail: false)
    try found(path).write(.time(modified))
  }

  func setMode(_ path: ArchivePath, _ mode: UInt32) throws(SystemError) {
    try disk.operate(mayFail: false)
    try found(path).write(.mode(mode))
  }

  func setOwner(_ path: ArchivePath, _ owner: ItemRecord.Owner) throws(SystemError) {
    try disk.operate(mayFail: false)
  }

  func setAttribute(_ path: ArchivePath, _ attribute: ExtendedAttribute) throws(SystemError) {
    try disk.operate(mayFail: false)
    try found(path).write(.attribute(attribute.name, attribute.value))
  }

  func clearExtendedMetadata(_ path: ArchivePath) throws(SystemError) {
    try disk.operate(mayFail: false)
    try found(path).clearExtendedMetadata()
  }

  func setAccessList(_ path: ArchivePath, _ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try disk.operate(mayFail: false)
    try found(path).write(.attribute(Self.listName(kind), Self.bytes(list)))
  }

  static func listName(_ kind: AccessListKind) -> [UInt8] { Array(kind == .access ? "access".utf8 : "default".utf8) }
  static func bytes(_ list: [AccessEntry]) -> [UInt8] { list.flatMap { [$0.subject.rawValue, $0.permissions] } }

  func entries(of path: ArchivePath?) throws(SystemError) -> [(name: [UInt8], kind: FileKind)] {
    try disk.operate(mayFail: false)
    let entries = try directory(path?.bytes ?? [], making: false).entries
    return entries.keys.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { name in
      entries[name].map { (name, $0.kind) }
    }
  }

  private func make(_ path: ArchivePath, _ node: Node) throws(SystemError) {
    try disk.operate()
    let parent = try directory(path.parent?.bytes ?? [], making: true)
    guard parent.entries[Array(path.name)] == nil else { throw SystemError(alreadyExisting: "create") }
    try disk.checkBounds(Array(path.name), node.kind)
    disk.link(parent, Array(path.name), node)
  }

  private func found(_ path: ArchivePath) throws(SystemError) -> Node {
    let parent = try directory(path.parent?.bytes ?? [], making: false)
    guard let node = parent.entries[Array(path.name)] else { throw SystemError(errno: ENOENT, operation: "find") }
    return node
  }

  private func directory(_ path: [UInt8], making: Bool) throws(SystemError) -> Node {
    var node = root
    for name in path.split(separator: UInt8(ascii: "/")) {
      if let next = node.entries[Array(name)] {
        guard next.kind == .directory else { throw SystemError(errno: ENOTDIR, operation: "find") }
        node = next
      } else {
        guard making else { throw SystemError(errno: ENOENT, operation: "find") }
        try disk.checkBounds(Array(name), .directory)
        let next = disk.node(.directory)
        disk.link(node, Array(name), next)
        node = next
      }
    }
    return node
  }
}
