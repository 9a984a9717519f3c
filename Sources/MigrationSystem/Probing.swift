import Glibc

extension SystemError {
  /// The disk, the connection to it or this process has a problem, so the call shows nothing about
  /// the abilities of the file system.
  package var saysNothingOfAbilities: Bool {
    switch errno {
    case EIO, ENOSPC, EDQUOT, EROFS, ENOMEM, EMFILE, ENFILE, EINTR, EAGAIN, EBUSY, ESTALE, ENODEV, ENXIO, EREMOTEIO,
      ENOLINK, ENOMEDIUM:
      true
    default: isConnectionLost
    }
  }
}

extension Descriptor {
  /// Whether a file on the open file's file system may have this size. Writes nothing.
  ///
  /// Moves the offset at which `append` writes.
  package func mayReach(_ size: Int64) -> Bool {
    // The kernel keeps the offset within the file system's largest file size.
    lseek(raw, off_t(size), SEEK_SET) != -1 || errno != EINVAL && errno != EOVERFLOW && errno != EFBIG
  }
}
