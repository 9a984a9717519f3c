import CSystem
import Glibc

/// An open directory. Names relative to it stay inside it, even if the directory is moved.
///
/// Names are single components; `openBeneath`, `openDirectoryBeneath` and `makeDirectories` take
/// paths with several. No operation follows a symbolic link, except `open`, which takes names from
/// the local user.
package struct Directory: ~Copyable, Sendable {
  /// The descriptor, for operations that directories share with files: status, synchronizing,
  /// locks.
  package let descriptor: Descriptor

  /// Takes ownership of a directory's descriptor.
  package init(owning descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// The number, for calls that borrow it while this value exists.
  package var raw: CInt { descriptor.raw }

  /// Opens an absolute path, or one relative to the current directory; follows links.
  package static func open(_ path: some PathBytes & ~Escapable) throws(SystemError) -> Directory {
    let raw = try unsafe path.callingPath("open") { unsafe Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    return Directory(owning: Descriptor(owning: raw))
  }

  /// The kernel's status of the item at a path, also through links.
  package static func status(of path: some PathBytes & ~Escapable) throws(SystemError) -> FileStatus {
    var status = stat()
    _ = try unsafe path.callingPath("examine") { unsafe fstatat(AT_FDCWD, $0, &status, 0) }
    return FileStatus(status)
  }

  /// Gives the descriptor away.
  package consuming func release() -> Descriptor {
    descriptor
  }

  /// Another handle on the same directory.
  package func duplicate() throws(SystemError) -> Directory {
    Directory(owning: try descriptor.duplicate())
  }

  /// The kernel's status of the directory itself.
  package func status() throws(SystemError) -> FileStatus {
    try descriptor.status()
  }

  /// Returns when the names in this directory are on the disk.
  package func synchronize() throws(SystemError) {
    try descriptor.synchronize()
  }
}

/// A directory that several owners keep open together.
package final class SharedDirectory: Sendable {
  /// The directory, to be borrowed.
  package let directory: Directory

  /// Shares a directory.
  package init(_ directory: consuming Directory) {
    self.directory = directory
  }
}
