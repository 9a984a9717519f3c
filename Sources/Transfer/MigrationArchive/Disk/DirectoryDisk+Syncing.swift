package import MigrationSystem
package import MigrationWire

extension DirectoryDisk {
  package func synchronize() throws(SystemError) {
    try tree.directory.descriptor.synchronizeFileSystem()
    guard syncsEach else { return }
    // The journal's own name, and after an import the names at the destination.
    try own.synchronize()
    try parent.directory.synchronize()
    let changed = changedFolders.withLock { $0 }
    for folder in changed {
      guard let folder else { continue }
      try unlessGone { () throws(SystemError) in
        do throws(SystemError) {
          try parent.directory.openDirectoryBeneath(folder.bytes).synchronize()
        } catch  where error.isNotDirectory {
          // A file whose metadata has followed.
          let place = try Self.directory(of: folder, in: parent)
          try DiskFile(place.directory.openChild(folder.name)).synchronizeWhole()
        }
      }
    }
    // Behind a failure, another call syncs all of them.
    changedFolders.withLock { $0.subtract(changed) }
  }

  package func synchronize(_ paths: Set<ArchivePath>) throws(SystemError) {
    let places = DirectoryTree(tree: tree)
    var folders: Set<ArchivePath> = []
    for path in paths.sorted() {
      folders.formUnion(path.lineage.dropLast())
      try unlessGone { () throws(SystemError) in
        switch try places.kind(of: path) {
        case .regular: try (places.openToRead(path) as? DiskFile)?.synchronizeWhole()
        case .directory: folders.insert(path)
        default: break
        }
      }
    }
    for folder in folders { try synchronize(folder: folder) }
    try tree.directory.synchronize()
  }

  package func synchronizeFolders() throws(SystemError) {
    let places = DirectoryTree(tree: tree)
    var pending: [ArchivePath?] = [nil]
    while let folder = pending.popLast() {
      for (name, kind) in try places.entries(of: folder) where kind == .directory {
        // A path that is too long has no item.
        if let path = try? folder?.appending(name.span) ?? ArchivePath(name) { pending.append(path) }
      }
      if let folder { try synchronize(folder: folder) }
    }
    try tree.directory.synchronize()
  }

  private func synchronize(folder: ArchivePath) throws(SystemError) {
    try unlessGone { () throws(SystemError) in
      let place = try Self.directory(of: folder, in: tree)
      do throws(SystemError) {
        try place.directory.openChildDirectory(folder.name).synchronize()
      } catch {
        // It may have its final rights, which keep this process out.
        guard error.isPermissionDenied else { throw error }
        let mode = try place.directory.status(folder.name).mode
        try place.directory.setMode(folder.name, mode | 0o500)
        try place.directory.openChildDirectory(folder.name).synchronize()
        try place.directory.setMode(folder.name, mode)
      }
    }
  }

  private func unlessGone(_ body: () throws(SystemError) -> Void) throws(SystemError) {
    do {
      try body()
    } catch {
      guard error.isNotFound || error.isNotDirectory || error.isSymbolicLink else { throw error }
    }
  }

  package func noteChange(at target: ArchivePath) { noteChange(at: target, itself: false) }

  /// Records that the names in the folder of an entry at the destination change, or the entry itself.
  func noteChange(at target: ArchivePath, itself: Bool) {
    guard syncsEach else { return }
    changedFolders.withLock { folders in
      folders.formUnion(target.lineage.dropLast().map { $0 })
      if itself { folders.insert(target) }
    }
  }

  /// Whether a sync of a whole file system is known to reach the data.
  enum FileSystemSync {
    /// The kernel's type numbers of file systems whose own syncfs writes all data to the disk, or to the
    /// server, and has it synced there: ext2 to ext4, XFS, btrfs, F2FS, bcachefs, ZFS, NILFS, JFS,
    /// ReiserFS, FAT, exFAT, ntfs3, HFS+, UDF, tmpfs, ramfs, overlayfs, NFS.
    ///
    /// The kernel gives a daemon of FUSE what is in memory, and does not ask it to sync. eCryptfs does
    /// not sync the file system below it. CIFS and 9p write to the server, which syncs when it likes.
    private static let known: Set<UInt64> = [
      0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0xCA45_1A4E, 0x2FC1_2FC1, 0x3434, 0x3153_464A, 0x5265_4973,
      0x4D44, 0x2011_BAB0, 0x7366_746E, 0x482B, 0x1501_3346, 0x0102_1994, 0x8584_58F6, 0x794C_7630, 0x6969,
    ]

    /// Whether it reaches all data of the file system that has an open file.
    static func reachesData(of descriptor: borrowing Descriptor) -> Bool {
      (try? descriptor.fileSystem()).map { known.contains($0.type) } ?? false
    }
  }
}
