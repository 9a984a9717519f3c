import Glibc

extension Directory {
  /// Creates a directory with an absolute path, or one relative to the current directory. The umask
  /// applies.
  package static func make(_ path: some PathBytes & ~Escapable, mode: UInt32) throws(SystemError) {
    _ = try unsafe path.callingPath("create the directory") { unsafe mkdir($0, mode) }
  }

  /// Fails unless this process may create names here.
  package func checkWritable() throws(SystemError) {
    try perform("write to") { unsafe faccessat(raw, ".", W_OK | X_OK, AT_EACCESS) }
  }
}
