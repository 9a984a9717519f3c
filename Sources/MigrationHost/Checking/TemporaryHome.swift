import MigrationSystem
import MigrationWire

/// A separate directory among the user's temporary files, in which apps can be kept.
package struct TemporaryHome: Sendable {
  /// The absolute path, without links.
  package let path: [UInt8]

  /// Creates a directory whose name begins with the prefix. The hint is for a lack of space, or an
  /// unsuitable path.
  package init(prefix: String, hint: String) throws(HostError) {
    let parent = Environment.bytes("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? Array("/tmp".utf8)
    let name = "\(prefix)\(try InstalledApp.randomName())"
    do throws(SystemError) {
      let parent = try Directory.open(parent)
      try parent.makeDirectory(name, mode: 0o700)
      path = try parent.openChildDirectory(name).canonicalPath()
    } catch {
      throw HostError(
        .storage, "no directory can be created in \(VisibleText.quoted(parent))", hint: hint, name: parent, cause: error
      )
    }
    do {
      try AppHome.check(path, hint: hint)
    } catch {
      remove()
      throw error
    }
  }

  /// A directory that was created before.
  package init(at path: [UInt8]) { self.path = path }

  /// Removes it with its contents, as far as possible.
  package func remove() {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
    try? Directory.open(Array(path[..<max(slash, 1)])).removeTree(ifThere: Array(path[(slash + 1)...]))
  }
}
