import CSystem
import Glibc

extension Descriptor {
  /// The kernel's status of the open file.
  package func status() throws(SystemError) -> FileStatus {
    var status = stat()
    try perform("examine") { unsafe fstat(raw, &status) }
    return FileStatus(status)
  }

  /// The same, requested from the server or daemon behind the file system: the kernel's cache may
  /// be out of date.
  package func freshStatus() throws(SystemError) -> FileStatus {
    var status = stat()
    try perform("examine") { unsafe csystem_fresh_status(raw, &status) }
    return FileStatus(status)
  }

  /// The file system that holds the open file.
  package func fileSystem() throws(SystemError) -> FileSystemName {
    var (identifier, type): (UInt64, UInt64) = (0, 0)
    try perform("examine the file system") { unsafe csystem_file_system(raw, &identifier, &type) }
    return FileSystemName(identifier: identifier, type: type)
  }

  /// Sets the twelve permission bits.
  package func setMode(_ mode: UInt32) throws(SystemError) {
    try perform("set the mode") { fchmod(raw, mode) }
  }

  /// Sets the modification time, and the access time to now.
  package func setTimes(modified: Timestamp) throws(SystemError) {
    try perform("set the time") {
      csystem_set_modified(raw, nil, modified.seconds, Int(modified.nanoseconds))
    }
  }

  /// Locks the open file against other processes that lock it; false if another one holds the lock
  /// and `nonBlocking` is set.
  ///
  /// The lock ends when the last duplicate of the descriptor is closed, in any process.
  package func lock(exclusive: Bool = true, nonBlocking: Bool = true) throws(SystemError) -> Bool {
    do {
      try perform("lock") { flock(raw, (exclusive ? LOCK_EX : LOCK_SH) | (nonBlocking ? LOCK_NB : 0)) }
      return true
    } catch let error where error.isWouldBlock {
      return false
    }
  }

  /// Releases the lock.
  package func unlock() throws(SystemError) {
    try perform("unlock") { flock(raw, LOCK_UN) }
  }
}
