import MigrationSystem

extension DirectoryDisk {
  package func letGo() {
    // What stays open stays until the process ends, and the staging directory perhaps with it.
    (journal as? DiskFile)?.letGo()
    try? tree.directory.descriptor.letGo()
  }
}

extension StagingDisk {
  /// One that is not on a file system keeps nothing there.
  package func letGo() {}
}
