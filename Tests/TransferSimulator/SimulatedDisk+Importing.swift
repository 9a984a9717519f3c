import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire

extension SimulatedDisk: ImportDestination {
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> Occupant? {
    try operate(mayFail: false)
    return try? occupant(path, in: tree)
  }

  func occupant(at target: ArchivePath) throws(SystemError) -> Occupant? {
    try operate(mayFail: false)
    return try occupant(target, in: destination)
  }

  private func occupant(_ path: ArchivePath, in root: Node) throws(SystemError) -> Occupant? {
    guard let node = try directory(of: path, in: root).entries[Array(path.name)] else { return nil }
    return Occupant(kind: node.kind, mode: node.state.mode, device: 1, inode: node.number)
  }

  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try operate(mayFail: false)
    let (from, to) = (try directory(of: path, in: tree), try directory(of: target, in: destination))
    guard to.entries[Array(target.name)] == nil else { throw SystemError(alreadyExisting: "rename") }
    rename(from, Array(path.name), to: to, Array(target.name))
  }

  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try operate(mayFail: false)
    let (from, to) = (try directory(of: path, in: tree), try directory(of: target, in: destination))
    guard to.entries[Array(target.name)]?.kind != .directory else {
      throw SystemError(errno: EISDIR, operation: "rename")
    }
    rename(from, Array(path.name), to: to, Array(target.name))
  }

  func arrivedPlaces() -> any StagingPlaces { SimulatedPlaces(self, beneath: destination) }

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
