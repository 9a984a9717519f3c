import MigrationSystem

extension DirectoryDisk {
  package func letGo() {
    // Descriptors that cannot be closed stay open until the process ends, and so may the staging
    // directory.
    (journal as? DiskFile)?.letGo()
    try? tree.directory.descriptor.letGo()
  }
}

extension StagingDisk {
  /// A disk that is not a file system has nothing to release.
  package func letGo() {}
}
