import CSystem
import Glibc

extension Descriptor {
  /// What the kernel knows about the open file.
  package func status() throws(SystemError) -> FileStatus {
    var status = stat()
    try perform("examine") { unsafe fstat(raw, &status) }
    return FileStatus(status)
  }

  /// The same, asked of the server or daemon behind the file system: the kernel may remember what was true before.
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

  /// Sets the modification time, which counts as an access.
  package func setTimes(modified: Timestamp) throws(SystemError) {
    try perform("set the time") {
      csystem_set_modified(raw, nil, modified.seconds, Int(modified.nanoseconds))
    }
  }

  /// Locks the open file against other openers that ask; false if another one holds it and waiting is not wanted.
  ///
  /// The lock ends when the last duplicate of the descriptor is closed, in whatever process.
  package func lock(exclusive: Bool = true, nonBlocking: Bool = true) throws(SystemError) -> Bool {
    do {
      try perform("lock") { flock(raw, (exclusive ? LOCK_EX : LOCK_SH) | (nonBlocking ? LOCK_NB : 0)) }
      return true
    } catch let error where error.isWouldBlock {
      return false
    }
  }

  /// Lets go of the lock.
  package func unlock() throws(SystemError) {
    try perform("unlock") { flock(raw, LOCK_UN) }
  }
}
