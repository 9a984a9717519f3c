import MigrationSystem
import MigrationWire

/// A directory of its own among the user's temporary files, in which apps can be kept.
package struct TemporaryHome: Sendable {
  /// The absolute path, without links.
  package let path: [UInt8]

  /// Makes a new one.
  package init() throws(HostError) {
    let parent = Environment.bytes("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? Array("/tmp".utf8)
    let name = "peer-\(try InstalledApp.randomName())"
    path = try HostError.wrapping(.storage, "no directory can be made in \(VisibleText.quoted(parent))") {
      () throws(SystemError) in
      let parent = try Directory.open(parent)
      try parent.makeDirectory(name, mode: 0o700)
      return try parent.openChildDirectory(name).canonicalPath()
    }
  }

  /// One that was made before.
  package init(at path: [UInt8]) { self.path = path }

  /// Removes it with all that is in it, as far as that goes.
  package func remove() {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
    try? Directory.open(Array(path[..<max(slash, 1)])).removeTree(ifThere: Array(path[(slash + 1)...]))
  }
}
