import CSystem
import Glibc

extension Descriptor {
  /// Returns once content and metadata are on the disk. For a directory: its names.
  package func synchronize() throws(SystemError) {
    try synchronizing { () throws(SystemError) in try perform("synchronize") { fsync(raw) } }
  }

  /// Returns once the content, and the metadata needed to read it, are on the disk.
  package func synchronizeData() throws(SystemError) {
    try synchronizing { () throws(SystemError) in try perform("synchronize") { fdatasync(raw) } }
  }

  /// Returns once everything written to the file system, by whatever process, is on the disk.
  ///
  /// Where the kernel cannot do that for one file system, it does it for all.
  package func synchronizeFileSystem() throws(SystemError) {
    do {
      try perform("synchronize the file system") { csystem_sync_file_system(raw) }
    } catch {
      guard error.isSynchronizingRefused else { throw error }
      sync()
    }
  }

  /// Synchronizes one thing, or all with it where the file system cannot do that for one: some cannot for directories.
  private func synchronizing(_ one: () throws(SystemError) -> Void) throws(SystemError) {
    do {
      try one()
    } catch {
      guard error.isSynchronizingRefused else { throw error }
      try synchronizeFileSystem()
    }
  }
}
