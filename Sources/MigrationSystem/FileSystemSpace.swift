import Glibc

/// How much room a file system has for us.
package struct FileSystemSpace: Equatable, Sendable {
  /// Bytes that we may still write; what is kept for the superuser is not counted.
  package let availableBytes: UInt64
  /// Files that we may still create, or nil if the file system sets no limit.
  package let availableItems: UInt64?
  /// The size of the file system.
  package let totalBytes: UInt64
  /// The unit in which space is given out.
  package let blockSize: UInt64

  /// Asks the file system that holds an open file.
  package static func of(_ descriptor: borrowing Descriptor) throws(SystemError) -> FileSystemSpace {
    var space = statvfs()
    let raw = descriptor.raw
    try perform("measure the file system") { unsafe fstatvfs(raw, &space) }
    let unit = UInt64(space.f_frsize)
    return FileSystemSpace(
      availableBytes: UInt64(space.f_bavail) * unit,
      availableItems: space.f_files == 0 ? nil : UInt64(space.f_favail),
      totalBytes: UInt64(space.f_blocks) * unit,
      blockSize: unit)
  }
}
