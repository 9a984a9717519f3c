import Glibc

extension SystemError {
  /// The disk, the way to it or this process is in trouble, so that nothing is learnt of what the file system can do.
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
  /// Whether a file of the open file's file system may have so many bytes. Nothing is written.
  ///
  /// Moves the offset that `append` writes at.
  package func mayReach(_ size: Int64) -> Bool {
    // The kernel keeps the offset within the largest size of the file system.
    lseek(raw, off_t(size), SEEK_SET) != -1 || errno != EINVAL && errno != EOVERFLOW && errno != EFBIG
  }
}
