import CSystem
import Glibc

extension Descriptor {
  /// Returns once content and metadata are on the disk. For a directory: its names.
  package func synchronize() throws(SystemError) {
    try perform("synchronize") { fsync(raw) }
  }

  /// Returns once the content, and the metadata needed to read it, are on the disk.
  package func synchronizeData() throws(SystemError) {
    try perform("synchronize") { fdatasync(raw) }
  }

  /// Returns once everything written to the file system, by whomever, is on the disk.
  package func synchronizeFileSystem() throws(SystemError) {
    try perform("synchronize the file system") { csystem_sync_file_system(raw) }
  }
}
