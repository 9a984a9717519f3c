package import MigrationSystem
import MigrationWire

/// A staging directory on a real file system: `tree` with every item in its final place, and
/// `journal` next to it.
package final class DirectoryDisk: StagingDisk {
  package let name: [UInt8]
  package let journal: any StagedFile
  /// The directory that contains the staging directory, and that the roots are moved to.
  let parent: SharedDirectory
  let tree: SharedDirectory
  /// Whether the directory had no `tree` when it was opened.
  let hadNoTree: Bool
  private let probed = Mutex<DiskAbilities?>(nil)

  /// Creates the staging directory, private, with an empty journal.
  package init(making name: [UInt8], in parent: SharedDirectory) throws(SystemError) {
    self.name = name
    self.parent = parent
    let parts = try Self.make(name, in: parent.directory)
    hadNoTree = false
    tree = parts.tree
    journal = parts.journal
  }

  /// Opens an existing staging directory. A kill or a power loss right after it was made may have
  /// left only a part of it: the missing part is made.
  package init(opening name: [UInt8], in parent: SharedDirectory) throws(SystemError) {
    self.name = name
    self.parent = parent
    let directory = try parent.directory.openChildDirectory(name)
    do {
      tree = SharedDirectory(try directory.openChildDirectory("tree"))
      hadNoTree = false
    } catch  where error.isNotFound {
      try directory.makeDirectory("tree", mode: 0o700)
      tree = SharedDirectory(try directory.openChildDirectory("tree"))
      hadNoTree = true
    }
    journal = DiskFile(try directory.openOrCreateFile("journal"))
  }

  private static func make(
    _ name: [UInt8], in parent: borrowing Directory
  ) throws(SystemError) -> (tree: SharedDirectory, journal: DiskFile) {
    try parent.makeDirectory(name, mode: 0o700)
    do {
      let directory = try parent.openChildDirectory(name)
      try directory.makeDirectory("tree", mode: 0o700)
      let journal = DiskFile(try directory.openOrCreateFile("journal"))
      return (SharedDirectory(try directory.openChildDirectory("tree")), journal)
    } catch {
      try? parent.removeTree(name)
      throw error
    }
  }

  package func places() -> any StagingPlaces {
    DirectoryPlaces(tree: tree, foldsNames: traits.nameRules.contains(.foldsNames))
  }

  /// Probed once, at the first request.
  package var abilities: DiskAbilities {
    probed.withLock { probed in
      if let probed { return probed }
      guard let staging = try? parent.directory.openChildDirectory(name) else { return DiskAbilities() }
      let abilities = DiskProbe.run(in: staging)
      probed = abilities
      return abilities
    }
  }

  package func synchronize() throws(SystemError) { try tree.directory.descriptor.synchronizeFileSystem() }

  package func space() -> FileSystemSpace? { try? FileSystemSpace.of(tree.directory.descriptor) }
}
