import MigrationSystem
package import MigrationWire

/// Gives each source the number under which a receiver keeps what arrived from it (Protocol §6.2).
///
/// The number is a hash under a secret of this device. In the user's home, it is of the path
/// relative to the home, so that a restored home keeps its numbers. Elsewhere, it is of the path
/// and the file system, so that two cards at one place are two sources. Inode numbers do not count.
package struct SourceNaming: Sendable {
  let secret: UInt128
  private let home: (path: [UInt8], device: UInt64)?

  /// - Parameter home: the home of this device's user.
  package init(secret: UInt128, home: [UInt8]?) {
    self.secret = secret
    self.home = home.flatMap { path in
      guard let directory = try? Directory.open(path), let real = try? directory.canonicalPath(),
        let device = try? directory.status().device
      else { return nil }
      return (real, device)
    }
  }

  /// The number of a source with this lasting name; `unknown` for a source without one.
  package func identity(of name: [UInt8]?) -> SourceIdentity {
    guard let name else { return .unknown }
    var hash = SipHash(key: secret)
    hash.combine(name)
    return SourceIdentity(UInt64(truncatingIfNeeded: hash.finish()))
  }

  /// The number of a source; `unknown` on a block device without a UUID.
  func identity(of root: SourceRoot) -> SourceIdentity {
    guard let path = try? root.origin(), let status = try? root.parent.directory.status(root.entry) else {
      return .unknown
    }
    if let home, status.device == home.device, path.starts(with: home.path + [UInt8(ascii: "/")]) {
      return identity(of: Array("home".utf8) + path.dropFirst(home.path.count))
    }
    let folder = status.kind == .directory ? try? root.parent.directory.openChildDirectory(root.entry) : nil
    let fileSystem: String? =
      if let folder {
        SystemDescription.lastingFileSystem(of: folder.descriptor)
      } else {
        SystemDescription.lastingFileSystem(of: root.parent.directory.descriptor)
      }
    return identity(of: fileSystem.map { Array("place \($0)\0".utf8) + path })
  }
}
