package import MigrationSystem
package import MigrationWire

extension DirectoryDisk {
  private static let block = 1 << 20

  package func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool {
    let (from, to) = (try Self.directory(of: path, in: tree), try arrival(of: target))
    let (staged, there) = (try from.directory.status(path.name), try to.directory.status(target.name))
    guard staged.kind == there.kind, staged.modified == there.modified, staged.size == there.size else { return false }
    switch staged.kind {
    case .regular:
      return try Self.isEqual(
        try from.directory.openChild(path.name), try to.directory.openChild(target.name))
    case .symbolicLink:
      return try from.directory.readLink(path.name) == to.directory.readLink(target.name)
    case .directory, .fifo, .socket, .blockDevice, .characterDevice:
      return false
    }
  }

  package func isPresent(_ path: ArchivePath, at target: ArchivePath, timeGranularity: UInt32) -> Bool {
    do {
      let (from, to) = (try Self.directory(of: path, in: tree), try arrival(of: target))
      let (staged, there) = (try from.directory.status(path.name), try to.directory.status(target.name))
      switch (staged.kind, there.kind) {
      case (.regular, .regular):
        let times = [staged, there].map { ItemTime($0.modified).rounded(to: timeGranularity) }
        return staged.size == there.size && times[0] == times[1]
      case (.symbolicLink, .symbolicLink):
        return try from.directory.readLink(path.name) == to.directory.readLink(target.name)
      default: return false
      }
    } catch {
      return false
    }
  }

  private static func isEqual(_ one: borrowing Descriptor, _ other: borrowing Descriptor) throws(SystemError) -> Bool {
    var (left, right) = ([UInt8](repeating: 0, count: block), [UInt8](repeating: 0, count: block))
    var position: Int64 = 0
    while true {
      let count = try one.readFully(at: position, into: &left)
      guard try other.readFully(at: position, into: &right) == count, left[..<count] == right[..<count] else {
        return false
      }
      if count < block { return true }
      position += Int64(count)
    }
  }
}
