import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire

extension SimulatedArea: ImportDestination {
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> ExistingEntry? {
    try disk.operate(mayFail: false)
    return try? occupant(path, in: tree)
  }

  func occupant(at target: ArchivePath) throws(SystemError) -> ExistingEntry? {
    try disk.operate(mayFail: false)
    return try occupant(target, in: disk.destination)
  }

  private func occupant(_ path: ArchivePath, in root: Node) throws(SystemError) -> ExistingEntry? {
    guard let node = try directory(of: path, in: root).entries[Array(path.name)] else { return nil }
    return ExistingEntry(
      kind: node.kind, mode: node.state.mode, device: 1, inode: node.number, size: UInt64(node.state.data.count),
      modified: node.state.modified)
  }

  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.operate(mayFail: false)
    guard disk.promisesToReplaceNothing else { throw SystemError(errno: EINVAL, operation: "rename") }
    let (from, to) = (try directory(of: path, in: tree), try directory(of: target, in: disk.destination))
    guard to.entries[Array(target.name)] == nil else { throw SystemError(alreadyExisting: "rename") }
    disk.rename(from, Array(path.name), to: to, Array(target.name))
  }

  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try disk.operate(mayFail: false)
    let (from, to) = (try directory(of: path, in: tree), try directory(of: target, in: disk.destination))
    if let there = to.entries[Array(target.name)], there.kind == .directory {
      let isDirectory = from.entries[Array(path.name)]?.kind == .directory
      guard isDirectory, there.entries.isEmpty else {
        throw SystemError(errno: isDirectory ? ENOTEMPTY : EISDIR, operation: "rename")
      }
    }
    disk.rename(from, Array(path.name), to: to, Array(target.name))
  }

  func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.operate(mayFail: false)
    guard disk.hasHardLinks else { throw SystemError(errno: EPERM, operation: "link") }
    let (from, to) = (try directory(of: path, in: tree), try directory(of: target, in: disk.destination))
    guard to.entries[Array(target.name)] == nil else { throw SystemError(alreadyExisting: "link") }
    guard let node = from.entries[Array(path.name)] else { throw SystemError(noSuchFile: "link") }
    disk.link(to, Array(target.name), node)
  }

  func claim(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> ExistingEntry {
    try disk.operate(mayFail: false)
    let to = try directory(of: target, in: disk.destination)
    guard to.entries[Array(target.name)] == nil else { throw SystemError(alreadyExisting: "create") }
    let node = disk.node(isDirectory ? .directory : .regular)
    disk.link(to, Array(target.name), node)
    return ExistingEntry(kind: node.kind, mode: node.state.mode, device: 1, inode: node.number)
  }

  func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) {
    try disk.operate(mayFail: false)
    let to = try directory(of: target, in: disk.destination)
    guard let node = to.entries[Array(target.name)] else { throw SystemError(noSuchFile: "remove") }
    guard (node.kind == .directory) == isDirectory else { throw SystemError(errno: ENOTDIR, operation: "remove") }
    guard node.entries.isEmpty else { throw SystemError(errno: ENOTEMPTY, operation: "remove") }
    disk.unlink(to, Array(target.name))
  }

  func open(staged path: ArchivePath) throws(SystemError) -> any StagedFile { try open(path, in: tree) }

  func open(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    try open(target, in: disk.destination)
  }

  private func open(_ path: ArchivePath, in root: Node) throws(SystemError) -> SimulatedFile {
    try disk.operate(mayFail: false)
    guard let node = try directory(of: path, in: root).entries[Array(path.name)] else {
      throw SystemError(noSuchFile: "open")
    }
    return SimulatedFile(node, disk)
  }

  private func directory(of path: ArchivePath, in root: Node) throws(SystemError) -> Node {
    var node = root
    for name in path.components.dropLast() {
      guard let next = node.entries[Array(name)] else { throw SystemError(noSuchFile: "find") }
      guard next.kind == .directory else { throw SystemError(errno: ENOTDIR, operation: "find") }
      node = next
    }
    return node
  }
}
