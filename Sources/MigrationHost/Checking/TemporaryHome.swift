import MigrationSystem
import MigrationWire

/// A directory of its own among the user's temporary files, in which apps can be kept.
package struct TemporaryHome: Sendable {
  /// The absolute path, without links.
  package let path: [UInt8]

  /// Makes a new one, whose name begins with the prefix. The hint is what helps where there is no room, or the path is not fit.
  package init(prefix: String, hint: String) throws(HostError) {
    let parent = Environment.bytes("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? Array("/tmp".utf8)
    let name = "\(prefix)\(try InstalledApp.randomName())"
    do throws(SystemError) {
      let parent = try Directory.open(parent)
      try parent.makeDirectory(name, mode: 0o700)
      path = try parent.openChildDirectory(name).canonicalPath()
    } catch {
      throw HostError(
        .storage, "no directory can be made in \(VisibleText.quoted(parent))", hint: hint, name: parent, cause: error)
    }
    do {
      try AppHome.check(path, hint: hint)
    } catch {
      remove()
      throw error
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
