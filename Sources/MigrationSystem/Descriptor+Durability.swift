import CSystem
import Glibc

extension Descriptor {
  /// Returns when content and metadata are on the disk; for a directory, its names.
  package func synchronize() throws(SystemError) {
    try synchronizing { () throws(SystemError) in try perform("synchronize") { fsync(raw) } }
  }

  /// Returns when the content, and the metadata needed to read it, are on the disk.
  package func synchronizeData() throws(SystemError) {
    try synchronizing { () throws(SystemError) in try perform("synchronize") { fdatasync(raw) } }
  }

  /// Returns when all data written to the file system, by any process, is on the disk.
  ///
  /// If the kernel cannot do that for one file system, it does it for all.
  package func synchronizeFileSystem() throws(SystemError) {
    do {
      try perform("synchronize the file system") { csystem_sync_file_system(raw) }
    } catch {
      guard error.isSynchronizingRefused else { throw error }
      sync()
    }
  }

  /// Synchronizes one item, or the whole file system if it cannot synchronize this item: some
  /// cannot synchronize directories.
  private func synchronizing(_ one: () throws(SystemError) -> Void) throws(SystemError) {
    do {
      try one()
    } catch {
      guard error.isSynchronizingRefused else { throw error }
      try synchronizeFileSystem()
    }
  }
}
