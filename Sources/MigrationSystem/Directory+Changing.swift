import CSystem
import Glibc

extension Directory {
  /// The kernel's status of a name; for a symbolic link, of the link itself.
  @specialized(where Name == Span<UInt8>)
  @specialized(where Name == ArraySlice<UInt8>)
  package func status<Name: PathBytes & ~Escapable>(_ name: Name) throws(SystemError) -> FileStatus {
    var status = stat()
    try unsafe name.callingName("examine") { unsafe fstatat(raw, $0, &status, AT_SYMLINK_NOFOLLOW) }
    return FileStatus(status)
  }

  /// The target of a symbolic link, of any length.
  package func readLink(_ name: some PathBytes & ~Escapable) throws(SystemError) -> [UInt8] {
    var capacity = 256
    while true {
      var target = [UInt8](repeating: 0, count: capacity)
      let count = try unsafe name.callingName("read the link") { name in
        unsafe target.withUnsafeMutableBytes { buffer in
          unsafe readlinkat(raw, name, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
        }
      }
      // A target that fills the buffer may have been truncated.
      if count < capacity { return Array(target[..<count]) }
      capacity *= 2
    }
  }

  /// Removes a name that is not a directory.
  package func remove(_ name: some PathBytes & ~Escapable) throws(SystemError) {
    try unsafe name.callingName("remove") { unsafe unlinkat(raw, $0, 0) }
  }

  /// Removes an empty directory.
  package func removeDirectory(_ name: some PathBytes & ~Escapable) throws(SystemError) {
    try unsafe name.callingName("remove") { unsafe unlinkat(raw, $0, AT_REMOVEDIR) }
  }

  /// Sets a name's modification time; for a symbolic link, the link's own.
  package func setTimes(_ name: some PathBytes & ~Escapable, modified: Timestamp) throws(SystemError) {
    try unsafe name.callingName("set the time of") {
      unsafe csystem_set_modified(raw, $0, modified.seconds, Int(modified.nanoseconds))
    }
  }

  /// Sets a name's twelve permission bits. Symbolic links have none: EOPNOTSUPP.
  package func setMode(_ name: some PathBytes & ~Escapable, _ mode: UInt32) throws(SystemError) {
    try unsafe name.callingName("set the mode of") { unsafe csystem_set_mode(raw, $0, mode) }
  }
}
